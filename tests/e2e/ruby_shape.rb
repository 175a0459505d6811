# A program of known shape for ruby.sh, for Ruby 2.7 and later: heavy(), medium() and light() take
# about 60, 30 and 10 % of the time (the program prints what it was), and every other way to be
# called has a method of its own.

def spin(n)
  x = 0
  i = 0
  while i < n
    x += i & 7 # hot
    i += 1
  end
  x
end

def heavy
  spin(6000)
end

def medium
  spin(3000)
end

def light
  spin(1000)
end

def recurse(depth)
  return recurse(depth - 1) if depth > 0

  spin(400)
end

def each_of
  3.times { spin(100) }
end

def key(x)
  spin(30) + x
end

def by_sort
  (0..29).sort_by { |x| key(x) }
end

def produce
  Enumerator.new do |out|
    3.times { out << spin(300) }
  end
end

def by_next
  made = produce
  3.times { made.next }
end

def in_fiber
  Fiber.new { spin(500) }.resume
end

def in_sub
  ("a" * 10).gsub("a") { key(1).to_s }
end

def big
  (1..40).inject { |a, b| a * (b + spin(10)) }
end

class Größe
  def method
    spin(300)
  end

  define_method(:defined) { spin(200) }

  def self.single
    spin(200)
  end
end

$spent = [0.0, 0.0, 0.0]

def clock
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
end

def run(till)
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
    5.times do
      before = clock
      start = clock
      reading = start - before # no function's, but in the time of each
      heavy
      after = clock
      medium
      later = clock
      light
      $spent[0] += after - start - reading
      $spent[1] += later - after - reading
      $spent[2] += clock - later - reading
    end
    recurse(40)
    each_of
    by_sort
    by_next
    in_fiber
    in_sub
    big
    Größe.new.method
    Größe.new.defined
    Größe.single
  end
end

def run_in_thread(till)
  run(till)
end

till = ARGV[0].to_f
thread = Thread.new { run_in_thread(till) }
run(till)
thread.join
all = $spent.sum
puts $spent.map { |part| 100 * part / all }.join(" ")

# The shape of usdt_stacks_shape.php. Ruby tells of methods only while there is a TracePoint.
TracePoint.new(:call, :return) {}.enable unless ARGV[1] == "silent"

def spin(rounds)
  sum = i = 0
  while i < rounds * 1000
    sum += i * i % 7
    i += 1
  end
  sum
end

class Work
  def heavy() spin(30) end
  def self.light() spin(10) end
end

def recurse(n) n > 0 ? recurse(n - 1) : spin(5) end

def thrower(n)
  n > 0 ? thrower(n - 1) : raise("out of here")
end

def jumper(n)
  n > 0 ? jumper(n - 1) : throw(:out)
end

def catcher
  begin
    thrower(5)
  rescue StandardError
  end
  catch(:out) { jumper(5) }
  quiet
end

def quiet() spin(10) end

def by_each() spin(5) end

def run(seconds)
  loop do
    Work.new.heavy
    Work.light
    recurse(40)
    catcher
    [1, 2].each { by_each }
    break if Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > seconds
  end
end

def in_thread() spin(1000) end

run(ARGV[0].to_f)
Thread.new { in_thread }.join

def inner(until_then)
  total = 0
  while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < until_then
    i = 0
    while i < 2000
      total += i * i
      i += 1
    end
  end
  total
end

def middle(until_then)
  inner(until_then) + 1
end

def outer(until_then)
  middle(until_then) + 1
end

outer(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + ARGV[0].to_f)

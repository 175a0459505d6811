-- A program of known shape for lua.sh, for Lua 5.1 and later and LuaJIT: heavy(), medium() and
-- light() take about 60, 30 and 10 % of the time (the program prints what it was), and every other
-- way to be called has a function of its own. Argument: seconds of processor time.

local function spin(n)
  local x = 0
  for i = 1, n do
    x = (x + i * i) % 1000003 -- hot
  end
  return x
end

function heavy()
  local x = spin(6000)
  return x
end

function medium()
  local x = spin(3000)
  return x
end

function light()
  local x = spin(1000)
  return x
end

local function recurse(depth)
  if depth > 0 then
    local x = recurse(depth - 1)
    return x
  end
  local x = spin(800)
  return x
end

local function by_pcall()
  local ok, x = pcall(function()
    local y = spin(600)
    return y
  end)
  return ok and x
end

local function by_sort()
  local list = {}
  for i = 1, 12 do
    list[i] = (i * 7) % 13
  end
  table.sort(list, function(a, b)
    local x = spin(30)
    return a < b and x ~= 0
  end)
  return list
end

local function by_pattern()
  return (string.gsub(string.rep("a", 10), "a", function()
    local x = spin(80)
    return tostring(x)
  end))
end

-- Yields from a function that it called, below a protected call where that can be.
local function produce()
  for i = 1, 3 do
    local x = spin(200)
    coroutine.yield(x + i)
  end
end

local function in_coroutine()
  local x = produce()
  return x
end

local function generate()
  local thread = coroutine.create(in_coroutine)
  local sum = 0
  while true do
    local ok, x = coroutine.resume(thread)
    if not ok or not x then
      break
    end
    sum = sum + x
  end
  return sum
end

local function protected()
  pcall(produce)
end

local function by_protected()
  local thread = coroutine.wrap(protected)
  for _ = 1, 3 do
    thread()
  end
end

local Object = {}
Object.__index = Object

function Object:method()
  local x = spin(600)
  return x
end

local module = {}
module.field = function()
  local x = spin(600)
  return x
end

local spent = { 0, 0, 0 }

local function run(seconds)
  local object = setmetatable({}, Object)
  local clock = os.clock
  while clock() < seconds do
    for _ = 1, 5 do
      local start = clock()
      heavy()
      local after = clock()
      medium()
      local later = clock()
      light()
      spent[1] = spent[1] + after - start
      spent[2] = spent[2] + later - after
      spent[3] = spent[3] + clock() - later
    end
    recurse(40)
    by_pcall()
    by_sort()
    by_pattern()
    generate()
    if not jit and _VERSION ~= "Lua 5.1" then
      by_protected()
    end
    object:method()
    module.field()
  end
end

run(tonumber(arg[1]))
local sum = spent[1] + spent[2] + spent[3]
print(100 * spent[1] / sum, 100 * spent[2] / sum, 100 * spent[3] / sum)

-- One trace of LuaJIT has all three: of the inner ones nothing is on the stack.
local function inner(total, i)
	if total % 3 == 0 then
		total = total + 2
	end
	if total % 5 ~= 1 then
		total = total + i
	end
	if total % 7 == 2 then
		total = total - 1
	end
	if total % 11 ~= 4 then
		total = total + 3
	end
	if total > 1000003 then
		total = total % 1000003
	end
	return total
end

local function middle(total, i)
	return inner(total, i) + 1
end

local function outer(till)
	local total = 0
	while os.clock() < till do
		for i = 0, 2000 do
			total = middle(total, i)
		end
	end
	return total
end

outer(os.clock() + tonumber(arg[1]))

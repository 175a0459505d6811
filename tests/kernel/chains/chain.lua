local function inner(till)
	local total = 0
	while os.clock() < till do
		for i = 0, 2000 do
			total = total + i * i
		end
	end
	return total
end

local function middle(till)
	return inner(till) + 1
end

local function outer(till)
	return middle(till) + 1
end

outer(os.clock() + tonumber(arg[1]))

// A template-heavy file: keeps the compiler busy for some seconds, deep in recursion.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct chain {
	std::tuple<std::array<int, N % 17 + 1>, std::string> value;
	chain<N - 1> rest;
	template <typename F> auto fold(F f) const
	{
		return f(std::get<0>(value)[0], rest.fold(f));
	}
};

template <> struct chain<0> {
	template <typename F> auto fold(F) const
	{
		return 0;
	}
};

template <std::size_t... I> auto sum_of_maps(std::index_sequence<I...>)
{
	std::tuple<std::map<std::array<char, I + 1>, std::vector<std::variant<int, double, std::string>>>...> maps;
	return (std::get<I>(maps).size() + ...);
}

using token = std::variant<int, double, std::string, std::shared_ptr<std::vector<int>>>;

struct printer {
	std::string operator()(int value) const { return std::to_string(value); }
	std::string operator()(double value) const { return std::to_string(value); }
	std::string operator()(const std::string &value) const { return value; }
	std::string operator()(const std::shared_ptr<std::vector<int>> &value) const
	{
		return std::accumulate(value->begin(), value->end(), std::string(),
			[](std::string text, int item) { return std::move(text) + std::to_string(item); });
	}
};

int main(int argc, char **argv)
{
	chain<60> numbers{};
	std::regex expression("([a-z]+)([0-9]*)(foo|bar|baz){1,3}");
	std::unordered_map<std::string, std::function<token(const token &)>> table;
	for (int i = 1; i < argc; i++)
		table[argv[i]] = [i](const token &other) -> token {
			return std::visit(printer(), other) + std::to_string(i);
		};
	std::vector<std::pair<std::string, int>> sorted;
	for (auto &[name, function] : table)
		if (std::regex_match(name, expression))
			sorted.emplace_back(std::visit(printer(), function(token(1))), 1);
	std::stable_sort(sorted.begin(), sorted.end());
	return numbers.fold([](int a, int b) { return a + b; })
	       + static_cast<int>(sum_of_maps(std::make_index_sequence<12>())) + static_cast<int>(sorted.size());
}

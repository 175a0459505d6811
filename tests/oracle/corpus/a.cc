#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
#include "shared.hh"
namespace {
struct Local {
	int v;
	Local(int x) : v(x) { v += helper(x); }
	__attribute__((noinline)) int run(int n) {
		auto f = [this, n](int k) { int s = 0; for (int i = 0; i < k; i++) s += scale(i) * v + n; return s; };
		std::function<int(int)> g = f;
		return g(n) + f(n + 1);
	}
};
}
template <class T> __attribute__((noinline)) T sum(const std::vector<T> &v) { T t{}; for (auto &x : v) t = t + x; return t; }
int dead(int x) { return helper(x) * 3; }
int other(std::map<std::string, int> &m, int n);
int main(int argc, char **) {
	std::vector<int> v;
	for (int i = 0; i < argc * 100; i++) v.push_back(scale(i));
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::map<std::string, int> m;
	for (int i : v) m[std::to_string(i)] = i;
	try { if (argc > 5) throw Local(2); } catch (Local &e) { return e.v; }
	printf("%d %d %d\n", sum(v), Local(argc).run(argc), other(m, argc));
	return 0;
}

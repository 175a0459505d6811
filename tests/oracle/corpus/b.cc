#include <map>
#include <string>
#include "shared.hh"
int Base::go(int x) { return scale(x); }
struct Derived : Base {
	int go(int x) override {
		struct In { static int deep(int y) { return scale(y) + helper(y); } };
		return In::deep(x) + Base::go(x);
	}
};
int other(std::map<std::string, int> &m, int n) {
	Derived d; Base *b = &d; int r = b->go(n);
	for (auto &p : m) if (p.second % 3 == n) r += scale(p.second); else if (p.first.find("7") != p.first.npos) r -= helper(n);
	return r;
}

static inline int helper(int x) { int r = 0; for (int i = 0; i < x; i++) r += i * i; return r; }
inline int scale(int x) { return helper(x & 7) + x; }
struct Base { virtual ~Base() {} virtual int go(int); };

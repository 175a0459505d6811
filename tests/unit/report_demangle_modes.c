/* What each mode shows of a name, and the two Rust manglings rule by rule. */
#include <string.h>

#include "format/base/str.h"
#include "report/name/demangle/demangle.h"
#include "report/name/demangle/demangle_collapse.h"
#include "report/name/demangle/demangle_libiberty.h"
#include "tests/unit/unit.h"

static void check_mode(const char *mangled, enum demangle_mode mode, const char *want)
{
	struct str out = {0};
	CHECK(demangle(mangled, mode, &out) == (want != NULL));
	CHECK_STR(str_text(&out), want ? want : "");
	str_deinit(&out);
}

static void check_full(const char *mangled, const char *want)
{
	check_mode(mangled, DEMANGLE_FULL, want);
}

TEST(modes_of_cplus)
{
	static const char name[] = "_ZNK2ns5ClassIiE6methodIcEEvT_";
	check_mode(name, DEMANGLE_FULL, "ns::Class<int>::method<char>(char) const");
	check_mode(name, DEMANGLE_TEMPLATES, "ns::Class<int>::method<char>");
	check_mode(name, DEMANGLE_SIMPLIFIED, "ns::Class<...>::method<...>");
	check_mode(name, DEMANGLE_NONE, NULL);
	check_mode("_ZN1aIiE1fEi.part.0.cold", DEMANGLE_SIMPLIFIED, "a<...>::f.part.0.cold");
	check_mode("_ZN1aIiE1fEi@@V_1", DEMANGLE_TEMPLATES, "a<int>::f@@V_1");
}

TEST(modes_of_java)
{
	static const char name[] = "a.B$C.run([Ljava/lang/String;I[[J)V";
	check_mode(name, DEMANGLE_USUAL, "a.B$C.run");
	check_mode(name, DEMANGLE_FULL, "a.B$C.run(java.lang.String[], int, long[][])");
	check_mode(name, DEMANGLE_SIMPLIFIED, "a.B$C.run");
	check_mode(name, DEMANGLE_NONE, NULL);
	check_full("a.B.<init>()V", "a.B.<init>()");
	check_full("a.B.it works (mostly)(I)V", "a.B.it works (mostly)(int)");
	check_mode("a.B.it works (mostly)", DEMANGLE_FULL, NULL);
	check_mode("a.B.f(I", DEMANGLE_FULL, NULL);
	check_mode("a.B.f(I)", DEMANGLE_FULL, NULL);
	check_mode("a.B.f(Q)V", DEMANGLE_FULL, NULL);
	check_mode("a.B.f(La/C)V", DEMANGLE_FULL, NULL);
	check_mode("a.B.f()VV", DEMANGLE_FULL, NULL);
	check_mode("f(I)V", DEMANGLE_FULL, NULL); /* of no class */
}

TEST(modes_of_rust)
{
	static const char name[] = "_RINvMC1aINtB3_1bpE1flE";
	check_mode(name, DEMANGLE_FULL, "<a::b<_>>::f::<i32>");
	check_mode(name, DEMANGLE_TEMPLATES, "<a::b<_>>::f::<i32>");
	check_mode(name, DEMANGLE_SIMPLIFIED, "<a::b<...>>::f::<...>");
	check_mode(
		"_ZN4core3num63_$LT$impl$u20$core..convert..From$LT$u8$GT$$u20$for$u20$u32$GT$4from"
		"17h0123456789abcdefE.llvm.5",
		DEMANGLE_SIMPLIFIED,
		"core::num::<impl core::convert::From<...> for u32>::from.llvm.5");
}

/* Text to text, as much of C++ is easier to write demangled. */
static void check_collapse(demangle_collapse_fn *collapse, const char *full, const char *templates,
	const char *simplified)
{
	struct str out = {0};
	if (templates) {
		CHECK(collapse(full, strlen(full), true, &out));
		CHECK_STR(str_text(&out), templates);
	}
	str_truncate(&out, 0);
	bool ok = collapse(full, strlen(full), false, &out);
	CHECK(ok == (simplified != NULL));
	if (ok && simplified)
		CHECK_STR(str_text(&out), simplified);
	str_deinit(&out);
}

TEST(cplus_collapses)
{
	static const char *const cases[][3] = {
		{"f", "f", "f"},
		{"f(int)", "f", "f"},
		{"std::vector<int, std::allocator<int> >::size() const",
			"std::vector<int, std::allocator<int> >::size", "std::vector<...>::size"},
		{"a<b<int>>::f()", "a<b<int>>::f", "a<...>::f"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator< <int>",
			"operator< <...>"},
		{"operator<(A const&, A const&)", "operator<", "operator<"},
		{"A::operator<<<int>(int)", "A::operator<<<int>", "A::operator<<<...>"},
		{"A::operator<=>(A const&) const", "A::operator<=>", "A::operator<=>"},
		{"A<int>::operator()<char const*>(char const*) const",
			"A<int>::operator()<char const*>", "A<...>::operator()<...>"},
		{"A<int>::operator->() const", "A<int>::operator->", "A<...>::operator->"},
		{"A::operator->*(int)", "A::operator->*", "A::operator->*"},
		{"A::operator[](int) &&", "A::operator[]", "A::operator[]"},
		{"operator new[](unsigned long)", "operator new[]", "operator new[]"},
		{"operator delete(void*)", "operator delete", "operator delete"},
		{"operator\"\" _kb(unsigned long long)", "operator\"\" _kb", "operator\"\" _kb"},
		{"A::operator B<int>*() const", "A::operator B<int>*", "A::operator B<...>*"},
		{"A::operator void (*)(int)() const", "A::operator void (*)(int)",
			"A::operator void (*)(int)"},
		{"A::operator void (A::*)()() const", "A::operator void (A::*)()",
			"A::operator void (A::*)()"},
		{"f<&(A::operator<(A const&))>(int)", "f<&(A::operator<(A const&))>", "f<...>"},
		{"f<g<void ()>>(h&&)", "f<g<void ()>>", "f<...>"},
		{"f<(x)<(y), ((x)>(y)), (x)<<(y), (x)>>(y)>(int)",
			"f<(x)<(y), ((x)>(y)), (x)<<(y), (x)>>(y)>", "f<...>"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f",
			"(anonymous namespace)::f"},
		{"f(A)::{lambda(B<int>)#1}::operator()(B<int>) const",
			"f::{lambda(B<int>)#1}::operator()", "f::{lambda(B<...>)#1}::operator()"},
		{"void f<int>(int)::{lambda()#2}::operator()() const",
			"f<int>::{lambda()#2}::operator()", "f<...>::{lambda()#2}::operator()"},
		{"void (*f<int>(int))(char)", "f<int>", "f<...>"},
		{"int (&f<int>(int)) [10]", "f<int>", "f<...>"},
		{"void (A<int>::*f<int>(int))(char) const", "f<int>", "f<...>"},
		{"decltype ((fp)+(1)) f<int>(int)", "f<int>", "f<...>"},
		{"decltype(auto) A::f<int>(int)", "A::f<int>", "A::f<...>"},
		{"std::string A::f[abi:cxx11](int)", "A::f[abi:cxx11]", "A::f[abi:cxx11]"},
		{"vtable for a<int (*)()>", "vtable for a<int (*)()>", "vtable for a<...>"},
		{"guard variable for void f<int>()::x", "guard variable for f<int>::x",
			"guard variable for f<...>::x"},
		{"non-virtual thunk to A<int>::~A()", "non-virtual thunk to A<int>::~A",
			"non-virtual thunk to A<...>::~A"},
		{"f(int) [clone .foo]", "f [clone .foo]", "f [clone .foo]"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_collapse(demangle_collapse_cplus, cases[i][0], cases[i][1], cases[i][2]);
	static const char *const odd[] = {"f(", "f<", "f)", "(*f", "{", "f(int) what"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		check_collapse(demangle_collapse_cplus, odd[i], NULL, NULL);
}

TEST(rust_collapses)
{
	static const char *const cases[][2] = {
		{"a::f", "a::f"},
		{"<a::B<T> as c::D<U>>::f::<i32, &str>", "<a::B<...> as c::D<...>>::f::<...>"},
		{"core::fmt::num::<impl core::fmt::Display for a::B<u32>>::fmt",
			"core::fmt::num::<impl core::fmt::Display for a::B<...>>::fmt"},
		{"<[T] as a::B>::f", "<[T] as a::B>::f"},
		{"<dyn for<'a> a::F<(&'a str,), Output = ()>>::f", "<dyn for<'a> a::F<...>>::f"},
		{"a::f::<'>', \"<\", fn(u8) -> u8>::{closure#0}", "a::f::<...>::{closure#0}"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_collapse(demangle_collapse_rust, cases[i][0], NULL, cases[i][1]);
}

TEST(d_collapses)
{
	check_collapse(
		demangle_collapse_d, "a.f!(int).f(int[]) const", "a.f!(int).f", "a.f!(...).f");
	check_collapse(demangle_collapse_d, "a.f(int).g!(\")\", ')').h(char)",
		"a.f.g!(\")\", ')').h", "a.f.g!(...).h");
	check_collapse(demangle_collapse_d, "a.B.this(int)", "a.B.this", "a.B.this");
}

/* ---- Rust, rule by rule ---- */

TEST(rust_v0_paths)
{
	check_full("_RC3foo", "foo");
	check_full("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check_full("_RNCNvC1a1f0", "a::f::{closure#0}");
	check_full("_RNCNvC1a1fs_0", "a::f::{closure#1}");
	check_full("_RNSNvC1a1f6vtable", "a::f::{shim:vtable#0}");
	check_full("_RNvMC1aNtB2_1S1f", "<a::S>::f");
	check_full("_RNvXC1aNtB2_1SNtB2_1T1f", "<a::S as a::T>::f");
	check_full("_RNvYlNtC1a1T1f", "<i32 as a::T>::f");
	check_full("_RNvNvC1a1f1gC1b", "a::f::g"); /* with the crate that has the copy */
	check_full("_RNvC1a1f.llvm.9D1C9369", "a::f.llvm.9D1C9369");
	check_full("_RNvC1a1f.unknown", "a::f.unknown");
	check_full("_RNvC1au9_tdaC1b", NULL); /* an identifier that is cut */
}

TEST(rust_v0_types)
{
	check_full("_RINvC1a1fabcdefhijlmnostuvxyzpE", "a::f::<i8, bool, char, f64, str, f32, u8, "
						       "isize, usize, i32, u32, i128, u128, i16, "
						       "u16, (), ..., i64, u64, !, _>");
	check_full("_RINvC1a1fRlQlRL0_lPlOlE", NULL); /* a lifetime that is not bound */
	check_full("_RINvC1a1fRlQlRL_lPlOlE", "a::f::<&i32, &mut i32, &i32, *const i32, *mut i32>");
	check_full(
		"_RINvC1a1fAlj3_SlTETlETlmEE", "a::f::<[i32; 3], [i32], (), (i32,), (i32, u32)>");
	check_full("_RINvC1a1fFG_RL0_hEuFUKC5cdeclEE", NULL);
	check_full("_RINvC1a1fFG_RL0_hEuFUKClEmFK6win_64EuE",
		"a::f::<for<'a> fn(&'a u8), unsafe extern \"C\" fn(i32) -> u32, "
		"extern \"win-64\" fn()>");
	check_full("_RINvC1a1fDNtC1b1TEL_E", "a::f::<dyn b::T>");
	check_full("_RINvC1a1fDG_INtC1b1TRL0_lEp1AhNtC1b1UEL_E",
		"a::f::<dyn for<'a> b::T<&'a i32, A = u8> + b::U>");
	check_full("_RINvC1a1fFG0_DNtC1b1TEL0_EuE", "a::f::<for<'a, 'b> fn(dyn b::T + 'b)>");
}

TEST(rust_v0_constants)
{
	check_full("_RINvC1a1fKj7b_Kan80_Kb1_Kb0_Kc27_Kca_KpE",
		"a::f::<123, -128, true, false, '\\'', '\\n', _>");
	check_full("_RINvC1a1fKoffffffffffffffff_Ko10000000000000000_E",
		"a::f::<18446744073709551615, 0x10000000000000000>");
	check_full("_RINvC1a1fKRe616263_KRh1_KTh1_Eh2_E", NULL);
	check_full("_RINvC1a1fKRe6122c3a9_KRh1_KTh1_h2_EKAh1_EE",
		"a::f::<\"a\\\"\xc3\xa9\", {&1}, {(1, 2)}, {[1]}>");
	check_full("_RINvC1a1fKVNtC1b1SUKVNtC1b1STh1_EKVNtC1b1SS1xh1_EE",
		"a::f::<{b::S}, {b::S(1)}, {b::S { x: 1 }}>");
	check_full("_RINvC1a1fKb2_E", NULL);
	check_full("_RINvC1a1fKcd800_E", NULL);
	check_full("_RINvC1a1fKRe61c_E", NULL);
	check_full("_RINvC1a1fKRec3_E", NULL);
}

TEST(rust_v0_references_stay_behind)
{
	check_full("_RINvC1a1fTlmEB7_E", "a::f::<(i32, u32), (i32, u32)>");
	check_full("_RB_", NULL);
	check_full("_RNvB_1f", NULL);
	check_full("_RINvC1a1fB7_E", NULL);
	check_full("_RINvC1a1fTB7_EE", NULL); /* to what is being read */
}

TEST(rust_v0_punycode)
{
	check_full("_RNvC1au8gdel_5qa", "a::g\xc3\xb6"
					"del");
	check_full("_RNvC1au3tda", "a::\xc3\xbc");
	check_full("_RNvC1au3A_Z", "a::punycode{A-Z}");
}

TEST(rust_legacy_escapes)
{
	check_full("_ZN33_$LT$$RF$T$C$$BP$$LP$$RP$$u7e$$GT$4a.bc17h0123456789abcdefE", NULL);
	check_full("_ZN34_$LT$$RF$T$C$$BP$$LP$$RP$$u7e$$GT$4a.bc17h0123456789abcdefE",
		"<&T,*()~>::a.bc");
	check_full("_ZN4a..b1c17h0123456789abcdefE", "a::b::c");
	check_full("_ZN4$XX$1c17h0123456789abcdefE", "$XX$::c");
	check_full("_ZN1a17h0123456789abcdefE.123", "a.123");
	/* Too few different digits for a hash: C++. */
	check_full("_ZN1a17h0000000000000001E", "a::h0000000000000001");
}

/*
 * What libiberty would read again and again, for years, is refused before it
 * begins: the sink has got nothing, and its budget is whole. Were it not, this would never end.
 */
static void check_bomb(bool (*run)(const char *mangled, struct demangle_sink *sink),
	const char *before, const char *unit, size_t count, const char *after)
{
	struct str name = {0}, out = {0};
	str_puts(&name, before);
	for (size_t i = 0; i < count; i++)
		str_puts(&name, unit);
	str_puts(&name, after);
	struct demangle_sink sink = {.out = &out, .limit = DEMANGLE_OUTPUT_MAX};
	CHECK(!run(str_text(&name), &sink));
	CHECK(!sink.is_over);
	CHECK_INT(out.len, 0);
	str_deinit(&name);
	str_deinit(&out);
}

TEST(what_is_read_again_and_again_is_refused)
{
	check_bomb(demangle_cplus, "_ZN1acvT_", "IT_", 60, "IiEv");
	check_bomb(demangle_d, "_D1a", "FC1b", 60, "");
	check_bomb(demangle_d, "_D1a", "FB2S1b", 60, "");
	check_bomb(demangle_d, "_D1a__T1b", "S10__T1b", 60, "");
}

/* a<S, S> of a<S, S> of ..., `levels` deep: 2^levels parts, in few bytes. */
static void put_doubled(struct str *name, int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	str_puts(name, "1aI");
	for (int i = 1; i < levels; i++)
		str_puts(name, "S_I");
	str_puts(name, "S_IiiE");
	for (int i = 0; i < levels; i++)
		str_printf(name, "S%c_E", digits[i]);
}

TEST(packs_are_not_sought_in_trees_without_end)
{
	struct str name = {0}, out = {0};
	struct demangle_sink sink = {.out = &out, .limit = DEMANGLE_OUTPUT_MAX};
	str_puts(&name, "_Z1fDp");
	put_doubled(&name, 3);
	CHECK(demangle_cplus(str_text(&name), &sink));
	str_truncate(&name, strlen("_Z1fDp"));
	str_truncate(&out, 0);
	put_doubled(&name, 34);
	CHECK(!demangle_cplus(str_text(&name), &sink));
	CHECK(!sink.is_over);
	CHECK_INT(out.len, 0);
	str_deinit(&name);
	str_deinit(&out);
}

/* Without a pack it prints until the budget is used up, and no longer. */
TEST(printing_ends_with_the_budget)
{
	struct str name = {0}, out = {0};
	struct demangle_sink sink = {.out = &out, .limit = DEMANGLE_OUTPUT_MAX};
	str_puts(&name, "_Z1f");
	put_doubled(&name, 34);
	CHECK(!demangle_cplus(str_text(&name), &sink));
	CHECK(sink.is_over);
	CHECK(out.len <= DEMANGLE_OUTPUT_MAX && out.len > DEMANGLE_OUTPUT_MAX - 1024);
	str_deinit(&name);
	str_deinit(&out);
}

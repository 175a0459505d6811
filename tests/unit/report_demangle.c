#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/name/demangle/demangle.h"
#include "tests/unit/unit.h"

static void check(const char *mangled, const char *want)
{
	struct str out = {0};
	str_puts(&out, ">");
	bool ok = demangle(mangled, DEMANGLE_FULL, &out);
	if (!want) {
		CHECK(!ok);
		CHECK_STR(str_text(&out), ">");
	} else {
		CHECK(ok);
		CHECK_STR(str_text(&out) + 1, want);
	}
	str_deinit(&out);
}

/* Of the processor: the machine may be busy. */
static double ms_to_refuse(const char *mangled)
{
	struct timespec a, b;
	struct str out = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	CHECK(!demangle(mangled, DEMANGLE_FULL, &out));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	CHECK_INT(out.len, 0);
	str_deinit(&out);
	return (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

TEST(cplus_names)
{
	check("_ZN2ns5ClassIiE6methodEi", "ns::Class<int>::method(int)");
	check("_Z3foov", "foo()");
	check("_ZNKSt6vectorIiSaIiEE4sizeEv",
		"std::vector<int, std::allocator<int> >::size() const");
	check("_ZN1aC2ERKS_", "a::a(a const&)");
	check("_Z3maxIiET_S0_S0_", "max<int>(int, int)");
	check("_ZTV3foo", "vtable for foo");
	check("_ZTV1aIPFivEE", "vtable for a<int (*)()>");
	check("_ZN1aIPFivEE1fEv", "a<int (*)()>::f()");
	check("_ZSt11make_sharedIN1a3MapEJjEESt10shared_ptrINSt9enable_ifIXntsr8is_arrayIT_EE"
	      "5valueES4_E4typeEEDpOT0_",
		"std::make_shared<a::Map, unsigned int>(unsigned int&&)");
}

TEST(rust_names_come_before_cplus)
{
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	      "3bar17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3new", "<std::path::PathBuf>::new");
	check("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		"utf8_idents::"
		"\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83"
		"\x90\xe1\x83\x93_"
		"\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83"
		"\x9a\xe1\x83\x98_"
		"\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
}

/* The return types of functions among the arguments of templates stay: a data symbol has no own. */
TEST(cplus_data_keeps_return_types)
{
	check("_ZN1aIPFivEE1xE", "a<int (*)()>::x");
	check("_ZL1xIPFivEE", "x<int (*)()>");
	check("_ZN1aI1bIPFivEEE1x1yE", "a<b<int (*)()> >::x::y");
	check("_ZN1aIXadL_Z1fIiEivEEE1xE", "a<&(int f<int>())>::x");
	check("_ZZ1fIPFivEEvT_E1x", "f<int (*)()>(int (*)())::x");
	check("_ZN1aIPFivEE1xE.lto_priv.0", "a<int (*)()>::x.lto_priv.0");
	check("_Z1gI1aIPFivEEEvT_", "g<a<int (*)()> >(a<int (*)()>)");
}

/* rust-lang/rust#142401, and the tests of rustc-demangle */
TEST(rust_pattern_types)
{
	check("_RMC0WmRm1_m9_", "<u32 is 1..=9>");
	check("_RMC0WmORm1_m2_Rm5_m6_E", "<u32 is 1..=2 | 5..=6>");
	check("_RMC0WmORm1_m2_Rm5_m6_", NULL);
	check("_RINvC1a1fWmRm1_mffffffff_E", "a::f::<u32 is 1..=4294967295>");
	check("_RMC0WPuN", "<*const () is !null>");
	check("_RMC0WmX", NULL);
	check("_RMC0WmOE", NULL);
}

TEST(d_names)
{
	check("_D8demangle4testFaZv", "demangle.test(char)");
	check("_Dmain", "D main");
}

TEST(suffixes_are_kept)
{
	check("_Z3fooi.cold", "foo(int).cold");
	check("_Z3fooi.part.0", "foo(int).part.0");
	check("_Z3fooi.constprop.0.isra.1.cold", "foo(int).constprop.0.isra.1.cold");
	check("_Z3fooi.lto_priv.12", "foo(int).lto_priv.12");
	check("_Z3fooi.llvm.812736123", "foo(int).llvm.812736123");
	check("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123", "core::fmt::write.llvm.123");
	check("_RNvC6_123foo3bar.llvm.9D1C9369", "123foo::bar.llvm.9D1C9369");
	check("_Znwm@plt", "operator new(unsigned long)@plt");
	check("_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)@@GLIBCXX_3.4");
	check("_Znwm.cold@GLIBCXX_3.4", "operator new(unsigned long).cold@GLIBCXX_3.4");
	check("_Z1fi.sse4_1.2", "f(int).sse4_1.2");
	check("_Z1fi._omp_cpyfn.6", "f(int)._omp_cpyfn.6");
	check("_Z1fi.avx2", "f(int).avx2");
	check("_Z1fi.arch_x86_64_v3.0.cold", "f(int).arch_x86_64_v3.0.cold");
	check("_Z1fi.popcnt@@VER_1", "f(int).popcnt@@VER_1");
	check("_D8demangle4testFaZv.avx2.1", "demangle.test(char).avx2.1");
	check("_Z1fi.", NULL);
	check("_Z1fi.a..b", NULL);
}

TEST(other_names_are_left)
{
	static const char *const names[] = {"", "_", "main", "_start", "__libc_start_main",
		"foo.cold", ".cold", "@plt", "_Z", "_ZN", "_R", "_D", "_Dfoo", "_Zfoo.cold", "_D1",
		"_ZN17hE", "_init"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i], NULL);
}

/* Each argument is a template of the one before, twice: 2^n in print. */
TEST(exponential_cplus_is_refused_fast)
{
	struct str name = {0};
	str_puts(&name, "_Z1f1aIiiE");
	/* S_ is a, S0_ is a<int, int>; each a<S(n), S(n)> becomes S(n+1). */
	for (int i = 0; i < 34; i++) {
		char last = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		str_printf(&name, "S_IS%c_S%c_E", last, last);
	}
	CHECK(name.len > 200 && name.len < 400);
	CHECK(ms_to_refuse(str_text(&name)) <
		20); /* far below a millisecond; the margin is for busy machines */
	str_deinit(&name);
}

/* A pack that is sought in the type of an expression: each template has the one before twice. */
TEST(exponential_pack_is_refused_fast)
{
	static const char name[] = "_Z1fIXspcv1aIS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_"
				   "IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IS_IiiES0_ES1_ES2"
				   "_ES3_ES4_ES5_ES6_ES7_ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_ESG_ESH_"
				   "ESI_ESJ_ESK_ESL_ESM_ESN_ESO_ESP_ESQ_ESR_ESS_ELi0EEEvv";
	CHECK(ms_to_refuse(name) < 20);
}

/* The same in Rust v0: tuples of two back references each, down to `innermost`. */
static void check_exponential_rust(const char *innermost, int levels, bool refused)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct str name = {0};
	str_puts(&name, "_RINvC1a1f");
	size_t previous = name.len - 2; /* positions count from behind _R */
	str_puts(&name, innermost);
	for (int i = 0; i < levels; i++) {
		size_t here = name.len - 2;
		str_putc(&name, 'T');
		for (int twice = 0; twice < 2; twice++) {
			size_t value = previous - 1; /* "B_" is 0, "B0_" is 1 */
			str_putc(&name, 'B');
			if (value >= 62)
				str_putc(&name, digits[value / 62]);
			str_putc(&name, digits[value % 62]);
			str_putc(&name, '_');
		}
		str_putc(&name, 'E');
		previous = here;
	}
	str_putc(&name, 'E');
	struct str out = {0};
	if (refused)
		CHECK(ms_to_refuse(str_text(&name)) < 20);
	else
		CHECK(demangle(str_text(&name), DEMANGLE_FULL, &out));
	str_deinit(&out);
	str_deinit(&name);
}

TEST(exponential_rust_is_refused_fast)
{
	check_exponential_rust("TllE", 3, false);
	check_exponential_rust("TllE", 40, true);
	/* The budget ends in a Punycode identifier, while libiberty holds memory: the leak checker
	 * watches. */
	check_exponential_rust("TCu30____7hkackfecea1cbdathfdh9hlq6yE", 3, false);
	check_exponential_rust("TCu30____7hkackfecea1cbdathfdh9hlq6yE", 40, true);
}

TEST(exponential_d_is_refused_fast)
{
	struct str name = {0};
	str_puts(&name, "_D1fFG1i"); /* the array G1i stands at 5 */
	size_t previous = name.len - 3;
	for (int i = 0; i < 40; i++) {
		size_t here = name.len;
		str_putc(&name, 'H'); /* an associative array of two earlier ones */
		for (int twice = 0; twice < 2; twice++) {
			size_t distance = name.len - previous;
			str_putc(&name, 'Q');
			if (distance >= 26)
				str_putc(&name, (char)('A' + distance / 26));
			str_putc(&name, (char)('a' + distance % 26));
		}
		previous = here;
	}
	str_puts(&name, "Zv");
	CHECK(ms_to_refuse(str_text(&name)) < 20);
	str_deinit(&name);
}

static void check_deep(const char *before, const char *unit, size_t count, const char *after)
{
	struct str name = {0};
	str_puts(&name, before);
	for (size_t i = 0; i < count; i++)
		str_puts(&name, unit);
	str_puts(&name, after);
	struct str out = {0};
	bool ok = demangle(str_text(&name), DEMANGLE_FULL, &out);
	CHECK(ok == (out.len > 0));
	CHECK(out.len <= DEMANGLE_OUTPUT_MAX);
	str_deinit(&out);
	str_deinit(&name);
}

TEST(deep_nesting_does_not_overflow_the_stack)
{
	check_deep("_Z1f", "P", 60000, "i");
	check_deep("_Z1f", "F", 60000, "i");
	check_deep("_Z1f", "1aI", 20000, "i");
	check_deep("_Z1fI", "RT_", 15000, "iEvv");
	check_deep("_Z1fIiEvDT", "ps", 30000, "i");
	check_deep("_RINvC1a1f", "R", 60000, "iE");
	check_deep("_D1aF", "F", 60000, "Zv");
	check_deep("_D1aF", "P", 5000, "iZv");
	check_deep("_D1aF", "H", 30000, "iZv");
}

/* libiberty alone refuses more than 1,024 bytes; real templates exceed that. */
TEST(long_names_are_demangled)
{
	struct str name = {0}, want = {0};
	str_puts(&name, "_ZN");
	for (int i = 0; i < 400; i++) {
		str_puts(&name, "8outer_ns");
		str_puts(&want, "outer_ns::");
	}
	str_puts(&name, "1fEv");
	str_puts(&want, "f()");
	check(str_text(&name), str_text(&want));
	str_deinit(&name);
	str_deinit(&want);
}

TEST(input_over_the_cap_is_refused)
{
	struct str name = {0};
	str_puts(&name, "_Z70000");
	str_pad(&name, 'x', 70000);
	str_puts(&name, "v");
	check(str_text(&name), NULL);
	str_deinit(&name);
}

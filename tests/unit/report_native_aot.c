/* Names of what NativeAOT has compiled. */
#include "report/name/symbol/native_aot.h"
#include "tests/unit/unit.h"

static void want_name(const char *name, const char *want)
{
	CLEANUP(str_deinit) struct str out = {0};
	CHECK_INT(native_aot_put_name(name, "shape", &out), *want != 0);
	CHECK_STR(str_text(&out), want);
}

TEST(native_aot_names_say_what_people_wrote)
{
	want_name("shape_Shape_Steps__Step05", "Shape.Steps.Step05");
	want_name("S_P_CoreLib_System_Threading_Thread__StartThread",
		"System.Threading.Thread.StartThread");
	want_name("S_P_Reflection_Execution_Internal_Reflection_Execution_MethodInvokers__Invoke",
		"Internal.Reflection.Execution.MethodInvokers.Invoke");
	want_name("S_P_CoreLib_System_Array__Sort_13<Int32>", "System.Array.Sort<Int32>");
	want_name("System_Linq_System_Linq_Enumerable__Sum_4<Int64__Int64>",
		"System.Linq.Enumerable.Sum<Int64,Int64>");
	want_name("S_P_CoreLib_System_Collections_Generic_ArraySortHelper_1<Int32>__Sort",
		"System.Collections.Generic.ArraySortHelper<Int32>.Sort");
	want_name("shape_Shape_Holder_1<System___Canon>__Step03", "Shape.Holder<__Canon>.Step03");
	want_name("shape_Shape_Steps__Step04<shape_Shape_Pair__System___Canon>",
		"Shape.Steps.Step04<Shape.Pair,__Canon>");
	want_name("shape_Shape_Holder_1<String>___ctor", "Shape.Holder<String>..ctor");
}

TEST(native_aot_names_of_what_the_compiler_made)
{
	want_name("shape_Shape_Steps___c__DisplayClass9_0___Step05_b__0",
		"Shape.Steps.Step05 lambda");
	want_name("shape_Shape_Program___c___Main_b__0_1", "Shape.Program.Main lambda");
	want_name("shape_Shape_Steps___Step06_g__Local_10_0", "Shape.Steps.Step06.Local");
	want_name("shape_Shape_Program__Asynchronous_d__0__MoveNext", "Shape.Program.Asynchronous");
	want_name("S_P_CoreLib_System_Task_1<Int64__shape_Shape_Program__A_d__0>__MoveNext_0",
		"System.Task<Int64__shape_Shape_Program__A_d__0>.MoveNext");
}

TEST(native_aot_leaves_other_names)
{
	want_name("RhpNewObject", "");
	want_name("__GetGCStaticBase_shape_Shape_Steps", "");
	want_name("", "");
	want_name("__", "");
	want_name("a__", "");
	want_name("_b__", "");
	want_name("x_d__0__MoveNext", "x.d..0.MoveNext");
}

// D that is hard on readers of its names and lines: templates, mixins, closures, nested
// functions, operators, contracts, scope guards.
module twine;

import core.stdc.stdio : printf;
import std.algorithm : filter, map, sort, sum;
import std.array : array;
import std.conv : to;

struct Pair(A, B)
{
	A left;
	B right;
	auto opBinary(string op)(Pair other) const if (op == "+" || op == "<<")
	{
		mixin("return Pair(left " ~ op ~ " other.left, right " ~ op ~ " other.right);");
	}

	int opCmp(ref const Pair other) const { return left < other.left ? -1 : left > other.left; }
	T opCast(T : bool)() const { return left != 0; }
}

interface Shape
{
	int area(int scale);
}

class Square : Shape
{
	private int side;
	this(int side) { this.side = side; }
	~this() { side = 0; }
	int area(int scale)
	in (scale > 0)
	out (result; result >= 0)
	{
		int inner(int n) { return n * side * scale; }
		return inner(side) & 0xffff;
	}

	@property int twice() const pure nothrow { return side * 2; }
}

mixin template Counted()
{
	int count;
	int next() { return ++count * 3; }
}

struct Holder
{
	mixin Counted;
	static int fold(alias f, T...)(T values)
	{
		int total;
		foreach (value; values)
			total += f(value);
		return total;
	}
}

pragma(inline, true) int hashed(int x) { return (x << 3) ^ (x >> 2) * 31; }

int delegate(int) adder(int base) { return (int x) => hashed(x) + base; }

int guarded(int x)
{
	scope (exit)
		printf("%d\n", x);
	if (x > 100)
		throw new Exception("much: " ~ x.to!string);
	return hashed(x);
}

int main(string[] args)
{
	auto numbers = new int[](cast(int) args.length * 40);
	foreach (i, ref number; numbers)
		number = hashed(cast(int) i);
	auto even = numbers.filter!(n => n % 2 == 0).map!(n => n * 3).array;
	sort!((a, b) => a > b)(even);
	auto pair = Pair!(int, long)(1, 2) + Pair!(int, long)(3, 4);
	auto shifted = pair << pair;
	Shape shape = new Square(cast(int) args.length);
	Holder holder;
	int[string] table;
	foreach (number; even)
		table[number.to!string] = number;
	int total = shape.area(3) + Holder.fold!(n => n + 1)(1, 2, 3) + holder.next() + adder(4)(5);
	try
		total += guarded(total & 0x7f);
	catch (Exception e)
		total -= cast(int) e.msg.length;
	printf("%d %d %d\n", total, cast(int) shifted.left + cast(bool) pair, cast(int) table.length + even.sum);
	return 0;
}

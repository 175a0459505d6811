// A program of which every caller is known: Turn() calls Step00(), which calls Step01(), and so on,
// each in another way, down to Step19(), or it stops on the way and works there.
//   dotnet_shape SECONDS [MILLISECONDS_OF_A_TURN]
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shape;

interface IStep
{
    long Step02(int depth);
}

class Base
{
    public virtual long Step01(int depth) => 0;
}

sealed class Derived : Base, IStep
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public override long Step01(int depth) => Steps.Work(1, depth) + ((IStep)this).Step02(depth) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public long Step02(int depth) => Steps.Work(2, depth) + new Holder<string>().Step03(depth, "") + 1;
}

sealed class Holder<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public long Step03(int depth, T value) => Steps.Work(3, depth) + Steps.Step04(depth, new Pair { A = 1 }, value) + 1;
}

struct Pair
{
    public long A, B, C;
}

sealed class ByStep : IComparer<int>
{
    public int depth;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Compare(int a, int b)
    {
        Steps.sink += Steps.Step09(depth);
        return a.CompareTo(b);
    }
}

static class Steps
{
    public const int Last = 19;
    public static long sink;
    static readonly Func<long, long> emitted = MakeEmitted();
    static readonly MethodInfo reflected = typeof(Steps).GetMethod("Step18");
    static readonly object[] arguments = new object[1];

    // Work happens at one depth of each turn, which the turn chooses.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Work(int step, int depth) => step == depth ? Spin(1000) + 1 : 0;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Spin(long n)
    {
        long x = n;
        for (long i = 0; i < n; i++)
            x = x * 6364136223846793005 + 1442695040888963407 + (x >> 33); // hot
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step00(int depth) => Work(0, depth) + new Derived().Step01(depth) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step04<T, U>(int depth, T pair, U value) => Work(4, depth) + Step05(depth) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step05(int depth)
    {
        Func<int, long> lambda = d => Work(5, depth) + Step06(d) + 1;
        return lambda(depth) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step06(int depth)
    {
        long extra = depth;
        [MethodImpl(MethodImplOptions.NoInlining)]
        long Local(int d) => Work(6, d) + Step07(d) + extra;
        return Local(depth) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step07(int depth)
    {
        Func<int, long> next = Step08;
        return Work(7, depth) + next(depth) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step08(int depth)
    {
        long worked = Work(8, depth);
        var numbers = new[] { 2, 1 };
        Array.Sort(numbers, new ByStep { depth = depth });
        return worked + numbers[0] + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step09(int depth) => Work(9, depth) + Enumerable.Range(0, 1).Select(i => Step10(depth) & 255).Sum() + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step10(int depth)
    {
        try
        {
            return Work(10, depth) + Step11(depth, 1, 2, 3, 4, 5, 6, 7, 8) + 1;
        }
        finally
        {
            sink++;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step11(int depth, long a, long b, long c, long d, long e, long f, long g, double h) =>
        Work(11, depth) + Step12(depth, new Pair { A = a + b + c, B = d + e, C = f + g }) + (long)h;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static unsafe long Step12(int depth, Pair pair)
    {
        long* room = stackalloc long[depth + 8];
        room[depth] = pair.A;
        return Work(12, depth) + Step13(depth).B + room[depth];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Pair Step13(int depth) => new Pair { A = depth, B = Work(13, depth) + Step14(depth, 1.5, 2.5) + 1 };

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step14(int depth, double a, double b)
    {
        double sum = a;
        long worked = Work(14, depth) + Step15(depth);
        return worked + (long)(sum * b);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step15(int depth)
    {
        Span<byte> bytes = stackalloc byte[300];
        bytes[depth] = 1;
        return Work(15, depth) + emitted(depth) + bytes[depth];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step16(long depth) => Work(16, (int)depth) + Step17((int)depth) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step17(int depth)
    {
        arguments[0] = depth;
        return Work(17, depth) + (long)reflected.Invoke(null, arguments) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step18(int depth) => Work(18, depth) + Step19(depth) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Step19(int depth) => Work(19, depth) + 1;

    // It calls Step16(), which nothing in the metadata knows of; where code is compiled ahead of time
    // alone, there can be no such method.
    static Func<long, long> MakeEmitted()
    {
        if (!RuntimeFeature.IsDynamicCodeSupported)
            return Step16;
        var method = new DynamicMethod("Emitted", typeof(long), new[] { typeof(long) }, typeof(Steps).Module);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Call, typeof(Steps).GetMethod("Step16"));
        code.Emit(OpCodes.Ldc_I4_1);
        code.Emit(OpCodes.Conv_I8);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
        return (Func<long, long>)method.CreateDelegate(typeof(Func<long, long>));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Turn(int depth) => sink += Step00(depth) + 1;
}

static class Program
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<long> Asynchronous(int depth)
    {
        await Task.Yield();
        long worked = Steps.Spin(20000);
        await Task.Yield();
        return worked + Steps.Spin(20000);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Catches()
    {
        try
        {
            return Throws();
        }
        catch (InvalidOperationException)
        {
            return Steps.Spin(20000) + 1;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Throws() => throw new InvalidOperationException();

    static volatile bool isOver;

    static void Main(string[] args)
    {
        double seconds = args.Length > 0 ? double.Parse(args[0]) : 2;
        var other = new Thread(() => { while (!isOver) Steps.Turn(Steps.Last); });
        other.Start();
        /* By its own CPU time, of two threads: others may have the CPU for most of the time. */
        for (int turn = 0; Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds < 2 * seconds; turn++)
        {
            for (int depth = 0; depth <= Steps.Last; depth++)
                Steps.Turn(depth);
            if (turn % 50 == 0)
                Steps.sink += Catches() + Asynchronous(turn).Result;
        }
        isOver = true;
        other.Join();
    }
}

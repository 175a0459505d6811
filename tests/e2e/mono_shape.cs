// A program of which every caller is known: Turn() calls Step00(), which calls Step01(), and so on,
// each in another way, down to Step15(), or it stops on the way and works there.
//   mono_shape.exe SECONDS [thread]
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Shape
{
    interface IStep
    {
        long Step02(int depth);
    }

    class Base
    {
        public virtual long Step01(int depth) { return 0; }
    }

    sealed class Derived : Base, IStep
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public override long Step01(int depth) { return Steps.Work(1, depth) + ((IStep)this).Step02(depth) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Step02(int depth) { return Steps.Work(2, depth) + new Holder<string>().Step03(depth, "") + 1; }
    }

    sealed class Holder<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Step03(int depth, T value) { return Steps.Work(3, depth) + Steps.Step04(depth, 7L, value) + 1; }
    }

    sealed class ByStep : IComparer<int>
    {
        public int depth;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Compare(int a, int b)
        {
            Steps.sink += Steps.Step09(depth);
            return a - b;
        }
    }

    static class Steps
    {
        public const int Last = 15;
        public static long sink;
        public static long filled;
        static readonly Dictionary<string, int> words = new Dictionary<string, int>();
        static readonly MethodInfo step11 = typeof(Steps).GetMethod("Step11");
        static readonly object[] arguments = new object[1];
        static Func<int, long> emitted;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step00(int depth) { return Work(0, depth) + new Derived().Step01(depth) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step04<T, U>(int depth, T first, U second)
        {
            Func<int, long> next = d => Step05(d) + depth;
            return Work(4, depth) + next(depth) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step05(int depth)
        {
            try { return Work(5, depth) + Step06(depth); }
            finally { sink++; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static unsafe long Step06(int depth)
        {
            byte* room = stackalloc byte[16 + (depth & 63)];
            room[0] = 1;
            return Work(6, depth) + Enumerable.Range(0, 1).Select(_ => Step07(depth)).Sum() + room[0];
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step07(int depth)
        {
            long sum = 0;
            foreach (int each in Step07Each(depth))
                sum += each;
            return sum + 1;
        }

        static IEnumerable<int> Step07Each(int depth)
        {
            yield return (int)(Work(7, depth) + Step08(depth));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step08(int depth)
        {
            var two = new[] { 2, 1 };
            Array.Sort(two, new ByStep { depth = depth }); // of mscorlib, compiled ahead of time
            return Work(8, depth) + two[0];
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.Synchronized)]
        public static long Step09(int depth) { return Work(9, depth) + Step10(depth) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step10(int depth)
        {
            arguments[0] = depth;
            return Work(10, depth) + (depth > 10 ? (long)step11.Invoke(null, new object[] { depth }) : 0) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step11(int depth)
        {
            if (emitted == null)
                Emit();
            return Work(11, depth) + emitted(depth) + 1;
        }

        static void Emit()
        {
            var method = new DynamicMethod("Emitted", typeof(long), new[] { typeof(int) }, typeof(Steps).Module, true);
            var code = method.GetILGenerator();
            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Call, typeof(Steps).GetMethod("Step12"));
            code.Emit(OpCodes.Ret);
            emitted = (Func<int, long>)method.CreateDelegate(typeof(Func<int, long>));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step12(int depth)
        {
            double a = depth, b = depth * 2;
            int c = depth, d = c * 3, e = d ^ c, f = e + d, g = f * e; // registers to be kept
            long sum = Work(12, depth) + Step13(depth, c, d, e, f, g, a, b, 9);
            return sum + (long)(a * b) + c + d + e + f + g;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step13(int depth, int a, int b, int c, int d, int e, double f, double g, int h)
        {
            var action = new Action(() => sink += Step14(depth));
            action += () => sink++;
            action();
            return Work(13, depth) + a + b + c + d + e + (long)(f + g) + h;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step14(int depth) { return Work(14, depth) + (depth >= Last ? Step15(depth) : 0) + 1; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Step15(int depth) { return Work(Last, depth) + 1; }

        // Where the turn ends: one kind of work in turn.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Work(int step, int depth)
        {
            if (step != depth)
                return 0;
            switch (filled++ % 8)
            {
            case 0: return Loop(4000);
            case 1: return Strings(12);
            case 2: return Tables(20);
            case 3: return Numbers(200);
            case 4: return Exceptions(2);
            case 5: return Memory(100);
            case 6: return Recursion(12);
            default: return Sorting(60);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Loop(int n)
        {
            long s = 0;
            for (int i = 0; i < n; i++)
                s += (s ^ i) * n;
            return s;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Strings(int n)
        {
            string s = "";
            for (int i = 0; i < n; i++)
                s += (i * n).ToString() + ",";
            return s.Split(',').Length;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Tables(int n)
        {
            for (int i = 0; i < n; i++)
                words["k" + i % 10] = i;
            return words.Count;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Numbers(int n)
        {
            double d = n;
            for (int i = 0; i < n; i++)
                d += Math.Sin(d) + Math.Pow(d, 0.3);
            return (long)d;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Exceptions(int n)
        {
            long caught = 0;
            for (int i = 0; i < n; i++)
                try { Throws(3); }
                catch (InvalidOperationException) { caught++; }
            return caught;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Throws(int depth)
        {
            if (depth == 0)
                throw new InvalidOperationException("x");
            Throws(depth - 1);
            sink++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Memory(int n)
        {
            object last = null;
            for (int i = 0; i < n; i++)
                last = new object[i % 20];
            GC.KeepAlive(last);
            return n;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Recursion(int n) { return n <= 1 ? 1 : Recursion(n - 1) + Recursion(n - 2); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Sorting(int n)
        {
            var list = new List<int>();
            for (int i = 0; i < n; i++)
                list.Add(i * 7919 % 100);
            list.Sort((a, b) => a - b);
            return list[0];
        }
    }

    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Turn(int depth) { Steps.sink += Steps.Step00(depth); }

        static void Run(double seconds)
        {
            var watch = Stopwatch.StartNew();
            for (int i = 0; watch.Elapsed.TotalSeconds < seconds; i++)
                Turn(i % (Steps.Last + 1));
        }

        static void Main(string[] arguments)
        {
            double seconds = double.Parse(arguments[0]);
            if (arguments.Length > 1)
            {
                var thread = new Thread(() => Run(seconds));
                thread.Start();
                thread.Join();
            }
            else
                Run(seconds);
        }
    }
}

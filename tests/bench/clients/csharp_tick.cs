// csharp_tick.exe SOCKET - what a tick of 1,000 poses and 64 rays takes with the C# client. Prints rows of CSV: the job, the least and the
// median time, and in the last column the bytes that a tick allocates. Every answer is checked.
using System;
using System.Diagnostics;
using Obbd;

static class Program
{
    const int Poses = 1000, Rays = 64, Side = 10, Rounds = 2000, Warm = 300;

    static void Fail(string what)
    {
        Console.Error.WriteLine("csharp_tick: " + what);
        Environment.Exit(1);
    }

    static void Row(string job, long[] ticks, long allocated)
    {
        Array.Sort(ticks);
        double us = 1e6 / Stopwatch.Frequency;
        Console.WriteLine("{0},{1:F0},{2:F0},{3}", job, ticks[0] * us, ticks[ticks.Length / 2] * us, allocated);
    }

    static void Main(string[] args)
    {
        var client = new ObbdClient("unix:" + args[0]);
        ObbdScene scene = client.Scene("csharp");
        var names = new string[Poses];
        var centers = new double[3 * Poses];
        for (int i = 0; i < Poses; i++)
        {
            names[i] = "box " + i;
            centers[3 * i] = 4 * (i % Side);
            centers[3 * i + 1] = 4 * (i / Side % Side);
            centers[3 * i + 2] = 4 * (i / Side / Side);
        }
        scene.Put(new ObbdMap { { "names", names }, { "centers", centers }, { "half_extents", new double[] { 1, 1, 1 } } });
        uint[] ids = scene.Ids(names);
        ObbdTick tick = scene.NewTick(Poses, Rays);
        var whole = new long[Rounds];
        var own = new long[Rounds]; // on the thread that calls: to build, to send and to read
        long allocated = 0;
        for (int round = -Warm; round < Rounds; round++)
        {
            if (round == 0)
                allocated = GC.GetAllocatedBytesForCurrentThread();
            double shift = round % 2 == 0 ? 0.5 : 0;
            for (int i = 0; i < Poses; i++)
                centers[3 * i] = 4 * (i % Side) + shift;
            long begun = Stopwatch.GetTimestamp();
            tick.Begin(round + Warm); // with a time it is a tick, which gets no id
            tick.Poses(ids, centers);
            for (int i = 0; i < Rays; i++)
                tick.Ray(new ObbdRay(new ObbdVector(-10, 4 * (i % Side), 4 * (i / Side)), new ObbdVector(1, 0, 0)));
            tick.Send();
            long sent = Stopwatch.GetTimestamp();
            while (!tick.TryFinish(1000))
            {
            }
            long came = Stopwatch.GetTimestamp();
            if (tick.Problem != null)
                Fail(tick.Problem.Message);
            for (int i = 0; i < Rays; i++)
                if (!tick.Hit(i, out ObbdHit hit) || hit.Id != ids[i * Side] || hit.Distance != 9 + shift)
                    Fail("a ray hit another box");
            long end = Stopwatch.GetTimestamp();
            if (round < 0)
                continue;
            whole[round] = end - begun;
            own[round] = sent - begun + (end - came);
        }
        allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
        Row("C#: tick of 1000 poses and 64 rays", whole, allocated / Rounds);
        Row("C#: of that on the thread that calls", own, allocated / Rounds);
    }
}

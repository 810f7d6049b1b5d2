// csharp_tick.exe SOCKET - what a tick of 1,000 poses and 64 rays takes with the C# client, in turns with the same bytes over a bare
// socket. Prints rows of CSV as clients.sh names them: in all, on the thread that calls, and the bytes that a tick allocates; with all
// rays in one query, and with a query for each, as shots have that are judged at times of their own. Every answer is checked.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using Obbd;

/// <summary>The address of a unix socket.</summary>
sealed class SocketFile : EndPoint
{
    readonly byte[] path;

    internal SocketFile(string path)
    {
        this.path = Encoding.UTF8.GetBytes(path);
    }

    public override AddressFamily AddressFamily { get { return AddressFamily.Unix; } }

    public override SocketAddress Serialize()
    {
        var address = new SocketAddress(AddressFamily.Unix, 2 + path.Length + 1);
        for (int i = 0; i < path.Length; i++)
            address[2 + i] = path[i];
        return address;
    }
}

/// <summary>A transport that keeps the request in place of sending it.</summary>
sealed class Keeping : IObbdTransport, IObbdCall
{
    internal byte[] Request;

    public void Begin(ObbdRequest request)
    {
        var head = new StringBuilder(request.Method + " " + request.Path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + request.BodySize);
        foreach (KeyValuePair<string, string> header in request.Headers)
            head.Append("\r\n" + header.Key + ": " + header.Value);
        byte[] bytes = Encoding.ASCII.GetBytes(head + "\r\n\r\n");
        Request = new byte[bytes.Length + request.BodySize];
        bytes.CopyTo(Request, 0);
        Buffer.BlockCopy(request.Bytes, request.BodyAt, Request, bytes.Length, request.BodySize);
    }

    public string Base { get { return "http://localhost"; } }
    public string SocketPath { get { return null; } }
    public IObbdCall NewCall(int answerBytes) { return this; }
    public ObbdStep Step(int waitMs) { return ObbdStep.Refused; }
    public bool IsSent { get { return false; } }
    public int Status { get { return 0; } }
    public string Header(string name) { return null; }
    public Dictionary<string, string> Headers() { return null; }
    public bool HeaderIs(string name, string value) { return false; }
    public byte[] Bytes { get { return null; } }
    public int BodyAt { get { return 0; } }
    public int BodySize { get { return 0; } }
    public void Consume(int size) { }
    public string Why { get { return "kept"; } }
    public void Leave() { }
    public void Dispose() { }
}

static class Program
{
    const int Poses = 1000, Rays = 64, Side = 10, Rounds = 40, Ticks = 50, Warm = 6;

    static readonly double[] centers = new double[3 * Poses];
    static readonly ObbdRay[] rays = new ObbdRay[Rays];
    static uint[] ids;
    static bool apart; // has each ray a query of its own?
    static bool polls; // does the thread sleep until the answer is there, as a game that asks once a frame?
    static readonly byte[] answer = new byte[1 << 16];

    static void Fail(string what)
    {
        Console.Error.WriteLine("csharp_tick: " + what);
        Environment.Exit(1);
    }

    static void Row(string job, string must, long[] client, long[] bare)
    {
        Array.Sort(client);
        Array.Sort(bare);
        double us = 1e6 / Stopwatch.Frequency;
        Console.WriteLine("{0},{1},{2:F0},{3:F0},{4:F0},{5:F0}", job, must, client[0] * us, client[client.Length / 2] * us, bare[0] * us,
            (client[0] - bare[0]) * us);
    }

    /// <summary>Builds the tick. Boxes go to and fro, so that each tick changes all of them.</summary>
    static void Build(ObbdTick tick)
    {
        tick.Begin(0); // with a time it is a tick, which gets no id
        tick.Poses(ids, centers);
        if (!apart)
            tick.Rays(rays, Rays);
        for (int i = 0; apart && i < Rays; i++)
            tick.Ray(rays[i]);
    }

    static void Move(int number)
    {
        for (int i = 0; i < Poses; i++)
            centers[3 * i] = 4 * (i % Side) + (number % 2 == 0 ? 0.5 : 0);
    }

    /// <summary>
    /// A tick with the client: in all, and on the thread that calls. If that polls, the last poll counts, which reads the answer.
    /// </summary>
    static void ByClient(ObbdTick tick, int number, out long whole, out long own)
    {
        Move(number);
        long begun = Stopwatch.GetTimestamp();
        Build(tick);
        tick.Send();
        long sent = Stopwatch.GetTimestamp(), poll;
        do
        {
            if (polls)
                Thread.Sleep(1);
            poll = Stopwatch.GetTimestamp();
        } while (!tick.TryFinish(polls ? 0 : 1000));
        if (tick.Problem != null)
            Fail(tick.Problem.Message);
        for (int i = 0; i < Rays; i++)
        {
            bool hits = apart ? tick.Hit(i, out ObbdHit hit) : tick.Hit(0, i, out hit);
            if (!hits || hit.Id != ids[i * Side] || hit.Distance != 9 + (number % 2 == 0 ? 0.5 : 0))
                Fail("a ray hit another box");
        }
        long end = Stopwatch.GetTimestamp();
        whole = end - begun;
        own = sent - begun + (end - poll);
    }

    /// <summary>The same bytes over a bare socket: in all, and the call that sends them.</summary>
    static void ByHand(Socket bare, byte[] request, out long whole, out long send)
    {
        long begun = Stopwatch.GetTimestamp();
        bare.Send(request);
        send = Stopwatch.GetTimestamp() - begun;
        if (polls)
            Thread.Sleep(1);
        for (int size = 0, wanted = 0; wanted == 0 || size < wanted;)
        {
            int got = bare.Receive(answer, size, answer.Length - size, SocketFlags.None);
            if (got == 0)
                Fail("no answer");
            size += got;
            if (wanted == 0)
                wanted = SizeOf(Encoding.ASCII.GetString(answer, 0, Math.Min(size, 1024)));
        }
        whole = Stopwatch.GetTimestamp() - begun;
    }

    /// <summary>The bytes of an answer, by what its head says; 0 if that is not whole.</summary>
    static int SizeOf(string head)
    {
        const string length = "Content-Length: ";
        int end = head.IndexOf("\r\n\r\n", StringComparison.Ordinal), at = head.IndexOf(length, StringComparison.Ordinal);
        if (end < 0)
            return 0;
        if (!head.StartsWith("HTTP/1.1 200", StringComparison.Ordinal) || at < 0)
            Fail("the request was refused");
        at += length.Length;
        return end + 4 + int.Parse(head.Substring(at, head.IndexOf('\r', at) - at));
    }

    static byte[][] Kept()
    {
        var keeping = new Keeping();
        var requests = new byte[2][];
        var client = new ObbdClient("http://localhost", new ObbdOptions { Transport = keeping, Retries = 0 });
        ObbdTick tick = client.Scene("csharp").NewTick(Poses, Rays);
        for (int i = 0; i < 2; i++)
        {
            Move(i);
            Build(tick);
            tick.Send();
            requests[i] = keeping.Request;
        }
        return requests;
    }

    /// <summary>Runs rounds of ticks; gives the bytes that a tick allocates.</summary>
    static long Run(ObbdTick tick, Socket bare, byte[][] requests, long[][] client, long[][] hand)
    {
        long allocated = 0;
        for (int round = -Warm; round < Rounds; round++)
        {
            int at = Math.Max(round, 0) * Ticks; // what the first rounds write is overwritten
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < Ticks; i++)
                ByClient(tick, i, out client[0][at + i], out client[1][at + i]);
            allocated += round < 0 ? 0 : GC.GetAllocatedBytesForCurrentThread() - before;
            for (int i = 0; i < Ticks; i++)
                ByHand(bare, requests[i % 2], out hand[0][at + i], out hand[1][at + i]);
        }
        return allocated / (Rounds * Ticks);
    }

    static void Measure(ObbdTick tick, Socket bare, string how)
    {
        byte[][] requests = Kept();
        long[][] client = { new long[Rounds * Ticks], new long[Rounds * Ticks] };
        long[][] hand = { new long[Rounds * Ticks], new long[Rounds * Ticks] };
        polls = false;
        long allocated = Run(tick, bare, requests, client, hand);
        Row("C#: tick of 1000 poses and 64 rays" + how, "", client[0], hand[0]);
        polls = true;
        Run(tick, bare, requests, client, hand);
        Row("C#: of that on the thread that calls", "50", client[1], hand[1]);
        Console.WriteLine("C#: bytes that it allocates,0,{0},{0},0,{0}", allocated);
    }

    static void Main(string[] args)
    {
        var client = new ObbdClient("unix:" + args[0]);
        ObbdScene scene = client.Scene("csharp");
        var names = new string[Poses];
        for (int i = 0; i < Poses; i++)
        {
            names[i] = "box " + i;
            centers[3 * i] = 4 * (i % Side);
            centers[3 * i + 1] = 4 * (i / Side % Side);
            centers[3 * i + 2] = 4 * (i / Side / Side);
        }
        scene.Put(new ObbdMap { { "names", names }, { "centers", centers }, { "half_extents", new double[] { 1, 1, 1 } } });
        ids = scene.Ids(names);
        for (int i = 0; i < Rays; i++)
            rays[i] = new ObbdRay(new ObbdVector(-10, 4 * (i % Side), 4 * (i / Side)), new ObbdVector(1, 0, 0));
        var bare = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        bare.Connect(new SocketFile(args[0]));
        ObbdTick tick = scene.NewTick(Poses, Rays);
        Measure(tick, bare, "");
        apart = true;
        Measure(tick, bare, " in 64 queries");
    }
}

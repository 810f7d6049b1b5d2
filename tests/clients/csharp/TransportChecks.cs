using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Net;
using Obbd;

/// <summary>A transport of the program, which answers at once with the bytes that it is given.</summary>
sealed class AtOnce : IObbdTransport, IObbdCall
{
    internal byte[] Answer = new byte[0];
    internal int Requests;

    public string Base { get { return "http://at.once"; } }
    public string SocketPath { get { return null; } }
    public bool IsSent { get { return true; } }
    public int Status { get { return 200; } }
    public byte[] Bytes { get { return Answer; } }
    public int BodyAt { get { return 0; } }
    public int BodySize { get { return Answer.Length; } }
    public string Why { get { return null; } }

    public IObbdCall NewCall(int answerBytes)
    {
        return this;
    }

    public void Begin(ObbdRequest request)
    {
        Requests++;
    }

    public ObbdStep Step(int waitMs)
    {
        return ObbdStep.Done;
    }

    public string Header(string name)
    {
        return null;
    }

    public Dictionary<string, string> Headers()
    {
        return new Dictionary<string, string>();
    }

    public bool HeaderIs(string name, string value)
    {
        return value == "application/cbor";
    }

    public void Consume(int size)
    {
    }

    public void Leave()
    {
    }

    public void Dispose()
    {
    }
}

static partial class Checks
{
    /// <summary>A host with two addresses of which the first refuses, and a host whose addresses all do.</summary>
    public static object Addresses(ObbdClient client, ObbdMap arguments)
    {
        var open = new IPEndPoint(IPAddress.Loopback, (int)arguments.Number("open"));
        var closed = new IPEndPoint(IPAddress.Loopback, (int)arguments.Number("closed"));
        var transport = new HttpTransport("http://localhost:" + closed.Port) { Addresses = new EndPoint[] { closed, open } };
        var other = new ObbdClient(null, new ObbdOptions { Transport = transport, Retries = 0 });
        Same(other.Request("GET", "/healthz").Status, 200);
        Same(transport.Addresses.Length, 2);
        transport.Dispose();
        transport = new HttpTransport("http://localhost:" + closed.Port) { Addresses = new EndPoint[] { closed, closed } };
        other = new ObbdClient(null, new ObbdOptions { Transport = transport, Retries = 0 });
        Throws<ObbdRefused>(() => other.Request("GET", "/healthz"), "no connection to http://localhost:" + closed.Port);
        Same(transport.Addresses, null, "the name is asked for again");
        return null;
    }

    /// <summary>
    /// A body that the server takes slowly, or not at all. A call has its time, and a step does not
    /// wait.
    /// </summary>
    public static object LargeAndSlow(ObbdClient client, ObbdMap arguments)
    {
        string url = (string)arguments["url"];
        byte[] body = new byte[1 << 26];
        var clock = Stopwatch.StartNew();
        var waits = new ObbdClient(url, new ObbdOptions { Timeout = 500, Retries = 0 });
        Action call = () => waits.Request("POST", "/v1/scenes/x/commit", body);
        Throws<ObbdUnknown>(call, "no answer in time");
        Same(clock.ElapsedMilliseconds < 3000, true, clock.ElapsedMilliseconds + " ms");
        ObbdTick tick = new ObbdClient(url).Scene("yard").NewTick();
        tick.Poses(new uint[1 << 20], new double[3 << 20]);
        clock.Restart();
        tick.Send();
        for (int i = 0; i < 10; i++)
            Same(tick.TryFinish(), false);
        Same(clock.ElapsedMilliseconds < 1000, true, clock.ElapsedMilliseconds + " ms");
        return null;
    }

    /// <summary>A body of which the daemon does not take all, because it refuses it.</summary>
    public static object LargeAndRefused(ObbdClient client, ObbdMap arguments)
    {
        var body = new ObbdMap { { "id", new string('x', 1 << 22) } };
        using (var one = new ObbdClient((string)arguments["url"]))
            for (int i = 0; i < 3; i++)
            {
                Action call = () => one.Request("POST", "/v1/scenes/x/commit", body);
                Same(Throws<ObbdProblem>(call, "--body-limit").Status, 413);
                Same(one.Request("GET", "/healthz").Status, 200);
            }
        return null;
    }

    static byte[] AnswerOfEveryKind()
    {
        ObbdMap floats = HitsInColumns(new float[] { 0, 0, 1, 0, 0, 0 }), doubles = HitsInColumns(new double[] { 0, 0, 1, 0, 0, 0 });
        var hit = new ObbdMap { { "box", 5 }, { "distance", 1.5 }, { "point", V(1, 2, 3) }, { "normal", V(0, 0, 1) }, { "started_inside", true } };
        var at = new ObbdMap { { "revision", 5 }, { "time", 1.5 }, { "clamped", false } };
        return Written(new ObbdMap
        {
            { "revision", 6 }, { "time", 2.5 }, { "removed", 0 }, { "posed", 2 }, { "ids", new ObbdMap { { "a", 1 }, { "b", 2 } } },
            { "results", new object[]
            {
                new ObbdMap { { "at", at }, { "columns", floats } },
                new ObbdMap { { "results", new object[] { new ObbdMap { { "hits", new object[] { hit, hit } } }, new ObbdMap { { "hits", new object[0] } } } } },
                new ObbdMap { { "results", new object[] { new ObbdMap { { "boxes", new[] { 1, 2 } } }, new ObbdMap { { "overlap", true } } } } },
                new ObbdMap { { "count", 1 }, { "pairs", new uint[] { 1, 2 } } },
                new ObbdMap { { "columns", doubles } },
            } },
        });
    }

    static ObbdMap HitsInColumns(object normals)
    {
        return new ObbdMap
        {
            { "boxes", new uint[] { 5, 0 } }, { "distances", new double[] { 4, 0 } }, { "points", new double[] { 1, 2, 3, 0, 0, 0 } },
            { "normals", normals }, { "times", new double[] { 5, 6 } }, { "clamped", new byte[] { 0, 1 } },
        };
    }

    /// <summary>
    /// Columns of so many rays that their heads are of each size. Ray i hits the box 7i + 1, and the last one nothing. If the
    /// last numbers of a column are missing, they are 0, and nothing else is read in their place. Ids may be floats.
    /// </summary>
    public static object ColumnsOfAllSizes(ObbdClient client, ObbdMap arguments)
    {
        var transport = new AtOnce();
        ObbdTick tick = new ObbdClient(null, new ObbdOptions { Transport = transport, Retries = 0 }).Scene("yard").NewTick();
        int hits = 0;
        for (int n = 2; n < 100; n++)
            for (int how = 0; how < 3; how++)
            {
                var boxes = new uint[n];
                var distances = new double[n];
                var points = new double[how == 1 ? 3 * n - 4 : 3 * n];
                for (int i = 0; i < n; i++)
                {
                    boxes[i] = i < n - 1 ? 7 * (uint)i + 1 : 0;
                    distances[i] = i + 0.5;
                    if (3 * i < points.Length)
                        points[3 * i] = -i;
                }
                var columns = new ObbdMap { { "boxes", boxes }, { "distances", distances }, { "points", points } };
                if (how == 2)
                    columns["boxes"] = Array.ConvertAll(boxes, id => (float)id);
                var result = new ObbdMap { { "columns", columns } };
                transport.Answer = Written(new ObbdMap { { "revision", 6 }, { "results", new object[] { result, result } } });
                tick.AllPairs();
                tick.Send();
                Same(tick.Problem, null);
                for (int query = 0; query < 2; query++)
                    for (int i = 0; i <= n; i++)
                    {
                        bool found = tick.Hit(query, i, out ObbdHit hit);
                        Same(found, i < n - 1, n + " rays, of " + i);
                        if (!found)
                            continue;
                        Same(hit.Id == 7 * i + 1 && hit.Distance == i + 0.5 && hit.Point.X == -i && hit.Point.Z == 0, true, n + " rays, of " + i);
                        hits++;
                    }
            }
        return new ObbdMap { { "hits", hits } };
    }

    static void ReadAll(ObbdTick tick)
    {
        for (int query = -1; query < 6; query++)
        {
            for (int item = 0; item < 3; item++)
            {
                tick.Hit(query, item, out ObbdHit hit, item);
                tick.Count(query, item);
                tick.Box(query, item, item);
                tick.Pair(query, item, out uint a, out uint b);
                tick.Overlaps(query, item);
                tick.Seen(query, out double time, out bool clamped, item);
            }
            tick.Value(query);
        }
    }

    /// <summary>
    /// Whole answers, and answers with some bytes changed or cut: nothing but FormatException comes out of reading
    /// them.
    /// </summary>
    public static object BrokenAnswers(ObbdClient client, ObbdMap arguments)
    {
        var transport = new AtOnce();
        ObbdTick tick = new ObbdClient(null, new ObbdOptions { Transport = transport, Retries = 0 }).Scene("yard").NewTick();
        byte[] whole = AnswerOfEveryKind();
        var random = new Random(20261123);
        int broken = 0, wrong = 0, answers = 20000;
        for (int i = 0; i < answers; i++)
        {
            transport.Answer = (byte[])whole.Clone();
            for (int n = i == 0 ? 0 : random.Next(1, 4); n > 0; n--)
                transport.Answer[random.Next(whole.Length)] = (byte)random.Next(256);
            if (random.Next(8) == 0)
                Array.Resize(ref transport.Answer, random.Next(whole.Length));
            tick.AllPairs();
            tick.Send();
            Same(tick.Busy, false);
            if (tick.Problem is ObbdDisconnected)
                broken++;
            try
            {
                ReadAll(tick);
            }
            catch (FormatException)
            {
                wrong++;
            }
            if (i > 0)
                continue;
            Same(tick.Problem, null);
            Same(tick.IdOf("b"), 2u);
            Same(tick.Hit(1, 0, out ObbdHit hit, 1) && hit.Started, true);
            Same(tick.Pair(3, 0, out uint a, out uint b), true);
            foreach (int query in new[] { 0, 4 }) // floats, which are searched for, and doubles, which were found before
            {
                Same(tick.Hit(query, 0, out hit) && hit.Id == 5 && hit.Distance == 4 && double.IsNaN(hit.Fraction), true);
                Same(hit.Point.Z == 3 && hit.Normal.Z == 1, true);
                Same(tick.Hit(query, 1, out hit) || tick.Hit(query, 2, out hit), false, "the second ray hits nothing, and there is no third");
            }
        }
        Same(transport.Requests, answers);
        return new ObbdMap { { "answers", answers }, { "broken", broken }, { "wrong", wrong } };
    }
}

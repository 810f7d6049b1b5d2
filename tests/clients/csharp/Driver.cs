using System;
using System.Collections.Generic;
using System.Threading;
using Obbd;

/// <summary>
/// The C# client under the control of a test in Python. Each line of its standard input is a JSON object: `session` names a
/// client, which is made by the first line and lives in a thread of its own, and `do` what it shall do. Each answer is a
/// line: the session, and `value` or `error`. It ends when its standard input closes.
/// </summary>
static class Driver
{
    static readonly Dictionary<string, Session> Sessions = new Dictionary<string, Session>();

    static void Main()
    {
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            var command = (ObbdMap)Json.Read(line);
            string name = command.Text("session");
            if (!Sessions.TryGetValue(name, out Session session))
                Sessions.Add(name, session = new Session(name));
            session.Add(command);
        }
        Environment.Exit(0);
    }

    internal static void Say(string session, string member, object value)
    {
        var answer = new ObbdMap { { "session", session }, { member, value } };
        lock (Sessions)
        {
            Console.WriteLine(Json.Written(answer));
            Console.Out.Flush();
        }
    }
}

sealed class Session
{
    readonly string name;
    readonly Queue<ObbdMap> commands = new Queue<ObbdMap>();
    readonly Dictionary<string, ObbdStream> streams = new Dictionary<string, ObbdStream>();
    ObbdClient client;
    ObbdScene scene;
    ObbdEvents events;
    uint[] kept;

    internal Session(string name)
    {
        this.name = name;
        new Thread(Run) { IsBackground = true }.Start();
    }

    internal void Add(ObbdMap command)
    {
        lock (commands)
        {
            commands.Enqueue(command);
            Monitor.Pulse(commands);
        }
    }

    void Run()
    {
        while (true)
        {
            ObbdMap command;
            lock (commands)
            {
                while (commands.Count == 0)
                    Monitor.Wait(commands);
                command = commands.Dequeue();
            }
            try
            {
                Driver.Say(name, "value", Do(command));
            }
            catch (Exception error)
            {
                Driver.Say(name, "error", Told(error));
            }
        }
    }

    static ObbdMap Told(Exception error)
    {
        var told = new ObbdMap { { "name", error.GetType().Name.Replace("Obbd", "") }, { "text", error.Message } };
        if (error is ObbdProblem problem)
        {
            told.Add("type", problem.Type);
            told.Add("status", problem.Status);
            told.Add("pointer", problem.Pointer);
            told.Add("body", problem.Body);
            told.Add("headers", Map(problem.Headers));
        }
        if (error is ObbdUnanswered unanswered)
            told.Add("committed", unanswered.Committed);
        if (!(error is ObbdException))
            told.Add("trace", error.ToString());
        return told;
    }

    static ObbdMap Map(Dictionary<string, string> headers)
    {
        var map = new ObbdMap();
        foreach (var header in headers ?? new Dictionary<string, string>())
            map.Add(header.Key, header.Value);
        return map;
    }

    static int? Int(ObbdMap command, string name)
    {
        return command.Has(name) ? (int?)(int)command.Number(name) : null;
    }

    static Dictionary<string, string> Headers(ObbdMap command)
    {
        var headers = new Dictionary<string, string>();
        foreach (var header in command.Map("headers") ?? new ObbdMap())
            headers.Add(header.Key, (string)header.Value);
        return headers;
    }

    /// <summary>
    /// {"u32": [..]} and so on as typed arrays, "kept" as the ids that were kept, {"bytes": "hex"} as bytes.
    /// </summary>
    object Typed(object value)
    {
        if (value is string text && text == "kept")
            return kept;
        if (value is List<object> list)
            return list.ConvertAll(Typed);
        if (!(value is ObbdMap map))
            return value;
        if (map.Has("u32"))
            return Array.ConvertAll(map.Numbers("u32"), n => (uint)n);
        if (map.Has("f32"))
            return Array.ConvertAll(map.Numbers("f32"), n => (float)n);
        if (map.Has("f64"))
            return map.Numbers("f64");
        if (map.Has("nan"))
            return double.NaN;
        var typed = new ObbdMap();
        foreach (var member in map)
            typed.Add(member.Key, Typed(member.Value));
        return typed;
    }

    object Do(ObbdMap command)
    {
        switch (command.Text("do"))
        {
            case "connect":
                return Connect(command);
            case "close":
                client.Dispose();
                return null;
            case "request":
                return Request(command);
            case "stream":
                streams[command.Text("name")] = client.Stream(command.Text("path"), Headers(command));
                return Map(streams[command.Text("name")].Headers);
            case "text":
                return Text(streams[command.Text("name")]);
            case "scene":
                scene = client.Scene(command.Text("name"));
                return scene.Page;
            case "commit":
                return scene.Commit((ObbdMap)Typed(command["commit"]), null, Int(command, "retries"));
            case "query":
                return scene.Query((ObbdMap)Typed(command["query"]), null, Int(command, "retries"));
            case "info":
                return scene.Info(command.Text("which"));
            case "ids":
                uint[] ids = scene.Ids(command.List("names").ConvertAll(name => (string)name));
                kept = command.Has("keep") ? ids : kept;
                return ids;
            case "events":
                return Events(command);
            case "delete":
                scene.Delete();
                return null;
            case "wait":
                Thread.Sleep((int)command.Number("ms"));
                return null;
            default:
                return Checks.Run(command.Text("do"), client, command);
        }
    }

    object Connect(ObbdMap command)
    {
        var options = new ObbdOptions();
        ObbdMap given = command.Map("options") ?? new ObbdMap();
        options.Timeout = Int(given, "timeout") ?? options.Timeout;
        options.Retries = Int(given, "retries") ?? options.Retries;
        options.Token = given.Text("token");
        List<object> tokens = given.List("tokens"); // the first, and the one after a refusal
        if (tokens != null)
            options.AskToken = refused => (string)tokens[refused ? 1 : 0];
        client = new ObbdClient(command.Text("url"), options);
        scene = client.Scene("yard");
        ObbdMap lost = command.Map("on_lost");
        if (lost != null)
            scene.Lost += of =>
            {
                for (int i = 0; i < (Int(lost, "times") ?? 1); i++)
                    of.Put(lost.Map("put"));
            };
        return null;
    }

    object Request(ObbdMap command)
    {
        ObbdReply reply = client.Request(command.Text("method"), command.Text("path"), Typed(command["body"]), Headers(command),
            command.Text("media"), false, null, Int(command, "retries"));
        return new ObbdMap { { "status", reply.Status }, { "headers", Map(reply.Headers) }, { "value", reply.Value } };
    }

    static string Text(ObbdStream stream)
    {
        var text = new System.Text.StringBuilder();
        while (!stream.Ended)
            if (stream.Read(out string line, 10000))
                text.Append(line).Append('\n');
        return text.ToString();
    }

    /// <summary>Reads events by polling, as a game would.</summary>
    object Events(ObbdMap command)
    {
        if (events == null)
        {
            var topics = (ObbdTopics)0;
            foreach (object topic in command.List("topics"))
                topics |= (ObbdTopics)Enum.Parse(typeof(ObbdTopics), (string)topic, true);
            events = scene.Follow(topics, command.Text("which"), Int(command, "silence") ?? 45000);
        }
        var seen = new List<object>();
        long until = Clock.After(Int(command, "within") ?? 30000);
        while (seen.Count < command.Number("count") && !events.Ended && Clock.Until(until) > 0)
        {
            if (!events.TryRead(out ObbdEvent one))
            {
                Thread.Sleep(5);
                continue;
            }
            var told = one.Data.Copy();
            told["event"] = one.Kind;
            seen.Add(told);
        }
        return seen;
    }
}

using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;

namespace Obbd
{
    [Flags]
    public enum ObbdTopics { Collisions = 1, Boxes = 2, Commits = 4, Queries = 8 }

    /// <summary>A message of a scene.</summary>
    public sealed class ObbdEvent
    {
        internal ObbdEvent(string kind, ObbdMap data)
        {
            Kind = kind;
            Data = data;
        }

        /// <summary>state, begin, end, boxes, commit, query or gone; a state means: begin anew with this set.</summary>
        public string Kind { get; private set; }
        public ObbdMap Data { get; private set; }
        public long Revision { get { return (long)Data.Number("revision"); } }
        public double Time { get { return Data.Number("time"); } }

        /// <summary>The pairs of a state, begin or end, two names each; none of others.</summary>
        public IEnumerable<KeyValuePair<string, string>> Pairs
        {
            get
            {
                List<object> pairs = Data.List("pairs");
                if (pairs == null)
                    yield break;
                foreach (List<object> pair in pairs)
                    yield return new KeyValuePair<string, string>((string)pair[0], (string)pair[1]);
            }
        }
    }

    /// <summary>
    /// Follows a scene over all connections. After a break the daemon sends again whatever belongs to a revision that was
    /// not told in full, so treat pairs as a set: begin adds, end removes.
    /// </summary>
    public sealed class ObbdEvents : IDisposable
    {
        internal const int SilenceMs = 45000; // three comments of the daemon
        const int WaitLeastMs = 250, WaitMostMs = 5000;

        readonly ObbdScene scene;
        readonly string path;
        readonly int silenceMs;
        readonly StringBuilder data = new StringBuilder();
        Exchange exchange; // that opens the stream, then has it
        bool opened, opening, left, first = true;
        string last = "", identity = "", kind = "";
        int wait = WaitLeastMs;
        long resume, silentAt;
        int looked;

        internal ObbdEvents(ObbdScene scene, ObbdTopics topics, string which, int silenceMs)
        {
            this.scene = scene;
            this.silenceMs = silenceMs;
            path = scene.Path + "/events?topics=" + Uri.EscapeDataString(topics.ToString().ToLowerInvariant().Replace(" ", ""))
                + (which == null ? "" : "&" + which);
            exchange = new Exchange(scene.Sender, 0, 0);
        }

        /// <summary>
        /// No message will come: the scene is gone, the stream was refused, or this or its client was disposed.
        /// </summary>
        public bool Ended { get { return left || scene.Sender.IsDisposed; } }

        /// <summary>
        /// The next message, if there is one; does not wait. Throws an ObbdException if the stream is refused, and
        /// ends.
        /// </summary>
        public bool TryRead(out ObbdEvent message)
        {
            return Read(out message, 0);
        }

        /// <summary>The next message; waits for it at most so many milliseconds, -1 for ever.</summary>
        public bool Read(out ObbdEvent message, int waitMs)
        {
            long until = Clock.After(waitMs);
            message = null;
            while (!Ended)
            {
                if (!opened)
                {
                    if (!Open(Clock.Until(until)))
                        return false;
                    continue;
                }
                if (Message(out message))
                {
                    if (message == null)
                        Break();
                    else
                        return true;
                    continue;
                }
                if (!More(until))
                    return false;
            }
            return false;
        }

        // ---- The connection ---------------------------------------------------------------------

        /// <summary>Opens the stream, or waits until it is time to; false if that takes longer.</summary>
        bool Open(int waitMs)
        {
            int rest = Clock.Until(resume);
            if (rest > 0)
            {
                if (waitMs == 0)
                    return false;
                Thread.Sleep(Clock.Shorter(rest, waitMs));
                return true;
            }
            if (!opening)
            {
                exchange.Prepare("GET", path);
                exchange.Request.Streams = true;
                exchange.Request.Set("Accept", Sender.EventsType);
                if (last.Length > 0)
                    exchange.Request.Set("Last-Event-ID", last);
                exchange.Begin(false, false, null, first ? (int?)null : 0);
                opening = true;
            }
            if (!exchange.Step(waitMs))
                return false;
            opening = false;
            if (exchange.Failure != null)
                Refused(exchange.Failure);
            else
                Begun();
            return true;
        }

        void Begun()
        {
            opened = true;
            first = false;
            looked = 0;
            kind = identity = "";
            data.Length = 0;
            silentAt = Clock.After(silenceMs);
            string epoch = exchange.Call.Header("Obbd-Epoch");
            if (scene.Owes || (scene.Epoch.Length > 0 && !string.IsNullOrEmpty(epoch) && epoch != scene.Epoch))
                Lose();
        }

        /// <summary>Lets the boxes be put again; false if that failed and the stream was left for a while.</summary>
        bool Lose()
        {
            try
            {
                scene.Lose(scene.Epoch);
                return true;
            }
            catch (ObbdException failure) when (IsPassing(failure))
            {
                Break();
                return false;
            }
        }

        /// <summary>
        /// May the next attempt succeed? A scene that is not there behind a break will be put again, for a scene that is deleted says
        /// `gone`. ObbdLost and ObbdUnknown come from a handler of `Lost`, if the daemon went once more
        /// while the boxes were put again.
        /// </summary>
        static bool IsPassing(ObbdException failure)
        {
            if (failure is ObbdDisconnected || failure is ObbdLost || failure is ObbdUnknown)
                return true;
            var problem = failure as ObbdProblem;
            if (problem == null)
                return false;
            return problem.Status == 429 || problem.Status == 503 || problem.Type == ObbdScene.NoScene;
        }

        void Refused(ObbdException failure)
        {
            var problem = failure as ObbdProblem;
            if (!first && problem != null && problem.Type == ObbdScene.NoScene && scene.HearsLost)
            {
                if (!Lose()) // the boxes are put again, so there is a scene to follow
                    return;
                exchange.Begin(false, false, null, 0);
                exchange.Finish();
                if (exchange.Failure == null)
                {
                    Begun();
                    return;
                }
                failure = exchange.Failure;
            }
            if (first || !IsPassing(failure))
            {
                Dispose();
                throw failure;
            }
            Break();
        }

        /// <summary>Leaves the connection; another one is made after a while.</summary>
        void Break()
        {
            exchange.Leave();
            opened = false;
            resume = Clock.Now + (long)(wait * (0.5 + scene.Sender.Random.NextDouble() / 2));
            wait = Math.Min(WaitMostMs, 2 * wait);
        }

        /// <summary>Waits for more of the stream; false if there is none in time.</summary>
        bool More(long until)
        {
            int had = exchange.Call.BodySize;
            ObbdStep step = exchange.Call.Step(Clock.Shorter(Clock.Until(until), Clock.Until(silentAt)));
            if (exchange.Call.BodySize > had)
                silentAt = Clock.After(silenceMs);
            else if (step != ObbdStep.Streaming || Clock.Until(silentAt) == 0)
                Break();
            else if (Clock.Until(until) == 0)
                return false;
            return true;
        }

        // ---- The messages -----------------------------------------------------------------------

        /// <summary>
        /// Reads lines until there is a message; null is one that ends the connection. False if more is needed.
        /// </summary>
        bool Message(out ObbdEvent message)
        {
            message = null;
            while (Line(out string line))
            {
                if (line.Length > 0)
                {
                    Field(line);
                    continue;
                }
                if (data.Length == 0)
                    continue;
                if (kind != "overrun" && kind != "shutdown")
                    message = Told();
                data.Length = 0;
                kind = "";
                return true;
            }
            return false;
        }

        ObbdEvent Told()
        {
            ObbdMap value;
            try
            {
                value = Json.Read(data.ToString()) as ObbdMap;
            }
            catch (FormatException)
            {
                return null;
            }
            if (identity.Length > 0)
                last = identity;
            wait = WaitLeastMs;
            if (kind == "gone")
                Dispose();
            return value == null ? null : new ObbdEvent(kind, value);
        }

        void Field(string line)
        {
            int colon = line.IndexOf(':');
            string field = colon < 0 ? line : line.Substring(0, colon); // empty in a comment
            string text = colon < 0 ? "" : line.Substring(colon + 1);
            if (text.StartsWith(" ", StringComparison.Ordinal))
                text = text.Substring(1);
            if (field == "id")
                identity = text;
            else if (field == "event")
                kind = text;
            else if (field == "data")
                data.Append(data.Length > 0 ? "\n" : "").Append(text);
        }

        bool Line(out string line)
        {
            IObbdCall call = exchange.Call;
            int stop = Array.IndexOf(call.Bytes, (byte)'\n', call.BodyAt + looked, call.BodySize - looked);
            if (stop < 0)
            {
                looked = call.BodySize;
                line = null;
                return false;
            }
            line = Encoding.UTF8.GetString(call.Bytes, call.BodyAt, stop - call.BodyAt).TrimEnd('\r');
            call.Consume(stop - call.BodyAt + 1);
            looked = 0;
            return true;
        }

        /// <summary>Leaves the stream.</summary>
        public void Dispose()
        {
            left = true;
            exchange.Leave();
        }
    }
}

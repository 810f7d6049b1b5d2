using System;
using System.Globalization;
using System.Text;
using System.Threading;

namespace Obbd
{
    /// <summary>
    /// A request and its answer, over as many attempts as the rules allow that all clients of obbd share: what may be sent
    /// again, and how long to wait. It never waits longer than it is told to, and is used again for the next request.
    /// </summary>
    sealed class Exchange
    {
        const int WaitFirstMs = 50, WaitMostMs = 2000; // before another attempt, if the daemon names no time

        internal readonly ObbdRequest Request;
        internal readonly IObbdCall Call;
        readonly Sender sender;
        bool changes, again, cut, refusedToken, resting;
        int retries, attempt, cancelled;
        long deadline, resume;

        /// <summary>Why there is no answer; null if there is one.</summary>
        internal ObbdException Failure { get; private set; }

        internal Exchange(Sender sender, int requestBytes, int answerBytes)
        {
            this.sender = sender;
            Request = new ObbdRequest(requestBytes);
            Call = sender.Transport.NewCall(answerBytes);
        }

        /// <summary>An empty request, to which headers and a body may be added.</summary>
        internal void Prepare(string method, string path)
        {
            ObbdRequest.CheckLine(path, '!');
            Request.Clear();
            Request.Method = method;
            Request.Path = path;
            sender.Authorize(Request);
        }

        /// <summary>
        /// Sends the request at the next step. `changes`: does it change something? If the connection breaks then, nobody can
        /// tell whether it was applied. `again`: may it be sent again all the same, because the daemon knows it again?
        /// </summary>
        internal void Begin(bool changes, bool again, int? timeout, int? retries)
        {
            this.changes = changes;
            this.again = again;
            this.retries = retries ?? sender.Retries;
            deadline = Clock.After(timeout ?? sender.Timeout);
            cut = refusedToken = resting = false;
            attempt = cancelled = 0;
            Failure = null;
            sender.Print(Request);
            Call.Begin(Request);
        }

        internal void Leave()
        {
            Call.Leave();
        }

        /// <summary>Waits until there is an answer, or a failure.</summary>
        internal void Finish()
        {
            while (!Step(-1))
            {
            }
        }

        /// <summary>Goes on for at most so many milliseconds; true if there is an answer, or a failure.</summary>
        internal bool Step(int waitMs)
        {
            long until = Clock.After(waitMs);
            while (true)
            {
                int wait = Clock.Shorter(Clock.Until(until), Clock.Until(deadline));
                if (resting)
                {
                    int rest = Clock.Until(resume);
                    if (rest > 0)
                    {
                        if (wait == 0)
                            return false;
                        Thread.Sleep(Clock.Shorter(wait, rest));
                        continue;
                    }
                    resting = false;
                    Call.Begin(Request);
                }
                switch (Call.Step(wait))
                {
                    case ObbdStep.Done:
                    case ObbdStep.Streaming:
                        if ((!Refuses(Call.Status) && Answers()) || Refused())
                            return true;
                        break;
                    case ObbdStep.Refused:
                        if (Broke(new ObbdRefused(Call.Why), false))
                            return true;
                        break;
                    case ObbdStep.Broken:
                        if (Broke(new ObbdDisconnected(Call.Why), true))
                            return true;
                        break;
                    default:
                        if (Clock.Until(deadline) == 0)
                        {
                            bool sent = Call.IsSent;
                            Call.Leave();
                            return Broke(new ObbdDisconnected("no answer in time"), sent);
                        }
                        if (Clock.Until(until) == 0)
                            return false;
                        break;
                }
            }
        }

        bool Broke(ObbdDisconnected failure, bool sent)
        {
            cut |= sent;
            return Failed(failure, sent && changes && !again, 0);
        }

        /// <summary>
        /// Is this no answer to the request? A redirect is none: the daemon sends none, and the address is the program's to change.
        /// </summary>
        internal static bool Refuses(int status)
        {
            return status >= 300 && status != 304;
        }

        // The types in which the daemon answers a request under /v1/.
        static readonly string[] types = { Sender.JsonType, Sender.Cbor, Sender.LinesType, Sender.EventsType };

        bool IsAccepted(string type)
        {
            for (int i = 0; i < Request.Headers.Count; i++)
                if (Request.Headers[i].Key == "Accept" && Request.Headers[i].Value == type)
                    return true;
            return false;
        }

        /// <summary>
        /// The one type of lines or events, if the request accepts only that; null: all of `types`.
        /// </summary>
        string OneOnly()
        {
            return IsAccepted(Sender.LinesType) ? Sender.LinesType : IsAccepted(Sender.EventsType) ? Sender.EventsType : null;
        }

        /// <summary>
        /// Is this an answer of the daemon? Between here and there may be somebody who says 200 and means a page to log in. Paths
        /// outside of /v1/ have types of their own. Does not allocate if the answer is in CBOR.
        /// </summary>
        bool Answers()
        {
            if (!Request.Path.StartsWith("/v1/", StringComparison.Ordinal) || Call.Status == 204 || Call.Status == 304
                || Call.HeaderIs("Content-Length", "0"))
                return true;
            string only = OneOnly();
            if (only == null && IsCbor)
                return true;
            string type = Type();
            return only == null ? Array.IndexOf(types, type) >= 0 : type == only;
        }

        /// <summary>The daemon answered with a problem, or somebody else did.</summary>
        bool Refused()
        {
            ObbdProblem problem = Problem();
            if (!Refuses(Call.Status))
                Call.Leave(); // it may go on
            if (problem.Status == 401 && !refusedToken && sender.Renew(Request))
            {
                refusedToken = true;
                Call.Begin(Request);
                return false;
            }
            if (problem.Status != 429 && problem.Status != 503)
            {
                Failure = problem;
                return true;
            }
            // Took longer than --request-timeout, or the service ends: worth one more attempt.
            if (problem.Type == "/problems/cancelled")
                cancelled++;
            double.TryParse(Call.Header("Retry-After") ?? "0", NumberStyles.Float, CultureInfo.InvariantCulture, out double seconds);
            return Failed(problem, cancelled > 1, 1000 * seconds);
        }

        /// <summary>Decides whether there is another attempt; true if there is none.</summary>
        bool Failed(ObbdException failure, bool last, double retryAfterMs)
        {
            double wait = Math.Min(WaitMostMs, WaitFirstMs * Math.Pow(2, attempt)) * (0.5 + sender.Random.NextDouble() / 2) + retryAfterMs;
            int left = Clock.Until(deadline);
            if (last || attempt >= retries || (left >= 0 && wait >= left))
            {
                Failure = cut && changes ? (ObbdException)new ObbdUnknown(failure.Message) : failure;
                return true;
            }
            resume = Clock.Now + (long)Math.Ceiling(wait);
            resting = true;
            attempt++;
            return false;
        }

        /// <summary>
        /// The answer cannot be read, so it is none, as if it had been cut. True if there is no other attempt: then `Failure` says why.
        /// </summary>
        internal bool Unreadable(FormatException error)
        {
            return Broke(new ObbdDisconnected("the answer cannot be read: " + error.Message), true);
        }

        ObbdProblem Problem()
        {
            int status = Call.Status;
            ObbdMap body = null;
            string detail = "found the status " + status + " without a problem, as another server or a proxy would send it";
            if (!Refuses(status))
                detail = "found " + (Type().Length == 0 ? "no type" : Type()) + ", as another server or a proxy would send it; an answer is "
                    + (OneOnly() ?? string.Join(" or ", types));
            else
                try
                {
                    body = Value() as ObbdMap;
                }
                catch (FormatException)
                {
                    // told by its status
                }
            return new ObbdProblem(body?.Text("detail") != null ? body : new ObbdMap
            {
                { "type", "" }, { "title", "status " + status }, { "status", (long)status }, { "detail", detail },
            }, status, Call.Headers());
        }

        // ---- The answer -------------------------------------------------------------------------

        internal bool IsCbor { get { return Call.HeaderIs("Content-Type", Sender.Cbor); } }

        string Type()
        {
            string type = Call.Header("Content-Type") ?? "";
            int rest = type.IndexOf(';');
            return (rest < 0 ? type : type.Substring(0, rest)).Trim().ToLowerInvariant();
        }

        /// <summary>
        /// The body: an object, a list; text of other types as a string; null without one. Throws FormatException.
        /// </summary>
        internal object Value()
        {
            if (Call.BodySize == 0)
                return null;
            string type = Type();
            if (type == Sender.Cbor)
                return CborReader.Read(Call.Bytes, Call.BodyAt, Call.BodySize);
            string text = Encoding.UTF8.GetString(Call.Bytes, Call.BodyAt, Call.BodySize);
            return type == Sender.JsonType || type == Sender.ProblemType ? Json.Read(text) : text;
        }
    }
}

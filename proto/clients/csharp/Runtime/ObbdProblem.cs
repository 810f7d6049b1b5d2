using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>What can go wrong with a request. Its subclasses say whether something was changed.</summary>
    public abstract class ObbdException : Exception
    {
        protected ObbdException(string message, Exception cause = null) : base(message, cause)
        {
        }
    }

    /// <summary>
    /// The daemon refused the request, or another server answered in its place. Nothing was changed. The message is what was found and what is allowed.
    /// </summary>
    public class ObbdProblem : ObbdException
    {
        internal ObbdProblem(ObbdMap body, int status, Dictionary<string, string> headers) : base(MessageOf(body))
        {
            Body = body;
            Headers = headers;
            Type = body.Text("type") ?? "";
            Status = body.Has("status") ? (int)body.Number("status") : status;
            Pointer = body.Text("pointer");
        }

        /// <summary>The problem document (RFC 9457).</summary>
        public ObbdMap Body { get; private set; }
        /// <summary>
        /// The headers of the answer, by their names in lower case; null if the problem is that of a query in a commit.
        /// </summary>
        public Dictionary<string, string> Headers { get; private set; }
        public string Type { get; private set; }
        public int Status { get; private set; }
        /// <summary>The value of the body that is at fault; null if none is.</summary>
        public string Pointer { get; private set; }

        static string MessageOf(ObbdMap body)
        {
            string pointer = body.Text("pointer");
            return (body.Text("detail") ?? body.Text("title")) + (string.IsNullOrEmpty(pointer) ? "" : " (" + pointer + ")");
        }
    }

    /// <summary>
    /// The scene's ids and revisions began anew: it was made again, or is gone. The event `Lost` was raised.
    /// </summary>
    public sealed class ObbdLost : ObbdProblem
    {
        internal ObbdLost(ObbdProblem problem) : base(problem.Body, problem.Status, problem.Headers)
        {
        }

        ObbdLost(ObbdMap body) : base(body, 412, null)
        {
        }

        /// <summary>The program still moves boxes by ids of a scene that was lost; nothing was sent.</summary>
        internal static ObbdLost OfIds(string scene)
        {
            return new ObbdLost(new ObbdMap
            {
                { "type", "/problems/epoch" }, { "title", "Another epoch" }, { "status", 412L },
                { "detail", "found ids of the scene '" + scene + "' that was lost; put its boxes again and ask for their ids" },
            });
        }
    }

    /// <summary>
    /// The connection could not be made, or broke before the whole answer to a question came. Nothing was changed.
    /// </summary>
    public class ObbdDisconnected : ObbdException
    {
        internal ObbdDisconnected(string message) : base(message)
        {
        }
    }

    /// <summary>No connection was made, so nothing of the request can have arrived.</summary>
    public sealed class ObbdRefused : ObbdDisconnected
    {
        internal ObbdRefused(string message) : base(message)
        {
        }
    }

    /// <summary>
    /// The connection broke after a change was sent, and attempts ended: it was made or not, and nobody can tell. A commit
    /// with an `id` may be sent again all the same.
    /// </summary>
    public sealed class ObbdUnknown : ObbdException
    {
        internal ObbdUnknown(string message) : base(message + "; the change was made or not")
        {
        }
    }

    /// <summary>
    /// The commit was made, but some of its queries could not be answered. They may be asked again, the commit may not.
    /// </summary>
    public sealed class ObbdUnanswered : ObbdException
    {
        internal ObbdUnanswered(ObbdMap committed, ObbdProblem problem)
            : base("the commit was made, its queries were not answered: " + problem.Message)
        {
            Committed = committed;
        }

        /// <summary>`cause` is the failure of the request that asked the queries again; InnerException has it.</summary>
        internal ObbdUnanswered(ObbdMap committed, Exception cause)
            : base("the commit was made, its queries were not answered: " + cause.Message, cause)
        {
            Committed = committed;
        }

        /// <summary>The answer to the commit; null if a tick has it.</summary>
        public ObbdMap Committed { get; private set; }
    }
}

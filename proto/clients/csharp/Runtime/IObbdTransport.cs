using System;
using System.Collections.Generic;

namespace Obbd
{
    /// <summary>
    /// A request as a transport sends it. The body stands in `Bytes`, with room for a head in front of it.
    /// </summary>
    public sealed class ObbdRequest
    {
        /// <summary>Bytes in front of the body where a transport may write the head, to send both as one.</summary>
        public const int HeadRoom = 2048;

        public string Method { get; internal set; }
        public string Path { get; internal set; }
        public List<KeyValuePair<string, string>> Headers { get; private set; }
        public bool HasBody { get; internal set; }
        public byte[] Bytes { get { return Body.Bytes; } }
        public int BodyAt { get { return HeadRoom; } }
        public int BodySize { get { return Body.Size - HeadRoom; } }
        /// <summary>
        /// The answer goes on: its head ends the wait, and the parts of its body are consumed as they come.
        /// </summary>
        public bool Streams { get; internal set; }

        internal readonly CborWriter Body;

        internal ObbdRequest(int capacity)
        {
            Body = new CborWriter(HeadRoom + Math.Max(capacity, 512));
            Headers = new List<KeyValuePair<string, string>>(8);
            Clear();
        }

        internal void Clear()
        {
            Body.Size = HeadRoom;
            Headers.Clear();
            HasBody = Streams = false;
        }

        /// <summary>
        /// Sets a header, in place of one of the same name. Throws ArgumentException if it would break the head.
        /// </summary>
        internal void Set(string name, string value)
        {
            CheckLine(name);
            CheckLine(value);
            var header = new KeyValuePair<string, string>(name, value);
            for (int i = 0; i < Headers.Count; i++)
                if (string.Equals(Headers[i].Key, name, StringComparison.OrdinalIgnoreCase))
                {
                    Headers[i] = header;
                    return;
                }
            Headers.Add(header);
        }

        internal static void CheckLine(string text, char least = ' ')
        {
            for (int i = 0; i < text.Length; i++)
                if (text[i] < least || text[i] > '~')
                    throw new ArgumentException("found the character " + (int)text[i] + " in '" + text
                        + "'; a request line and its headers are printable ASCII");
        }
    }

    /// <summary>Where a call stands.</summary>
    public enum ObbdStep
    {
        /// <summary>The answer is still to come.</summary>
        Going,
        /// <summary>The head of an answer that goes on is there, and more of its body may be.</summary>
        Streaming,
        /// <summary>The whole answer is there.</summary>
        Done,
        /// <summary>No connection was made; nothing was sent.</summary>
        Refused,
        /// <summary>The connection broke; `Why` says how.</summary>
        Broken
    }

    /// <summary>
    /// One request after another, each until it is done or left. Nothing is thrown; `Step` says what happened.
    /// </summary>
    public interface IObbdCall
    {
        void Begin(ObbdRequest request);
        /// <summary>Goes on, and waits at most so many milliseconds for something to happen: 0 does not wait.</summary>
        ObbdStep Step(int waitMs);
        /// <summary>Can something of the request have arrived?</summary>
        bool IsSent { get; }
        int Status { get; }
        /// <summary>The value of a header of the answer; null if there is none. Allocates.</summary>
        string Header(string name);
        /// <summary>All headers of the answer, by their names in lower case.</summary>
        Dictionary<string, string> Headers();
        /// <summary>Has a header of the answer this value? Does not allocate.</summary>
        bool HeaderIs(string name, string value);
        /// <summary>The body, or what is there of it and was not consumed.</summary>
        byte[] Bytes { get; }
        int BodyAt { get; }
        int BodySize { get; }
        /// <summary>Takes bytes of an answer that goes on away from the front of its body.</summary>
        void Consume(int size);
        /// <summary>What broke the connection, or kept it from being made.</summary>
        string Why { get; }
        /// <summary>Ends the call wherever it stands; its answer is no longer valid.</summary>
        void Leave();
    }

    /// <summary>
    /// Carries requests to one daemon. The one that comes with the client speaks HTTP/1.1 on sockets. Where there are none,
    /// as in WebGL, a program brings its own in `ObbdOptions.Transport`.
    /// </summary>
    public interface IObbdTransport : IDisposable
    {
        /// <summary>What is in front of a path, as http://localhost:7480.</summary>
        string Base { get; }
        /// <summary>The unix socket; null if there is none.</summary>
        string SocketPath { get; }
        /// <summary>A call that takes memory for answers of so many bytes; larger ones make it grow.</summary>
        IObbdCall NewCall(int answerBytes);
    }
}

using System;
using System.Collections.Generic;
using System.Net.Sockets;
using System.Text;

namespace Obbd
{
    /// <summary>
    /// Requests over connections of an HttpTransport, one after the other, and their answers. The memory for head and body is
    /// kept from answer to answer; it grows and never shrinks.
    /// </summary>
    sealed class HttpCall : IObbdCall
    {
        const int HeadMost = 1 << 16;
        // Bytes of one write. mono tries again and again until all of them are taken, also on a
        // socket that does not wait; a socket that can be written to takes so many at once.
        const int SliceMost = 1 << 14;
        enum Phase { Idle, Connecting, Sending, Head, Body, Done }
        enum Framing { Length, Chunks, UntilClose }

        readonly HttpTransport transport;
        HttpConnection connection;
        ObbdRequest request;
        Phase phase;
        int sendBegin, sendAt, sendEnd;
        SocketError unsent; // why the other side did not take the whole request, if it did not
        byte[] buffer;
        int end;      // of what was received
        int headEnd;  // of the head, behind its empty line
        int rawAt;    // of what was received of the body and not looked at
        int bodyAt, bodyEnd;
        Framing framing;
        long chunkLeft;   // of the body, or of the chunk that is being read
        bool inChunk, lastChunk, kept;

        public int Status { get; private set; }
        public bool IsSent { get { return phase >= Phase.Sending; } }
        public string Why { get; private set; }
        public byte[] Bytes { get { return buffer; } }
        public int BodyAt { get { return bodyAt; } }
        public int BodySize { get { return bodyEnd - bodyAt; } }

        internal HttpCall(HttpTransport transport, int answerBytes)
        {
            buffer = new byte[Math.Max(answerBytes, 4096)];
            this.transport = transport;
        }

        public void Begin(ObbdRequest request)
        {
            Leave();
            this.request = request;
            WriteHead();
            Status = 0;
            Why = null;
            unsent = SocketError.Success;
            end = headEnd = rawAt = bodyAt = bodyEnd = 0;
            phase = Phase.Connecting;
        }

        // ---- The request ------------------------------------------------------------------------

        int headAt;
        byte[] head = new byte[512];
        int headSize;

        void Ascii(string text)
        {
            if (headSize + text.Length > head.Length)
                Array.Resize(ref head, 2 * (headSize + text.Length));
            for (int i = 0; i < text.Length; i++)
                head[headSize++] = (byte)text[i];
        }

        void Number(int n)
        {
            if (headSize + 10 > head.Length)
                Array.Resize(ref head, 2 * head.Length);
            int digits = 1;
            for (int rest = n; rest >= 10; rest /= 10)
                digits++;
            headSize += digits;
            for (int at = headSize - 1; digits > 0; digits--, n /= 10)
                head[at--] = (byte)('0' + n % 10);
        }

        /// <summary>Puts the head in front of the body, so that both go out in one write.</summary>
        void WriteHead()
        {
            headSize = 0;
            Ascii(request.Method);
            Ascii(" ");
            Ascii(transport.Prefix);
            Ascii(request.Path);
            Ascii(" HTTP/1.1\r\nHost: ");
            Ascii(transport.Host);
            if (request.HasBody)
            {
                Ascii("\r\nContent-Length: ");
                Number(request.BodySize);
            }
            for (int i = 0; i < request.Headers.Count; i++)
            {
                Ascii("\r\n");
                Ascii(request.Headers[i].Key);
                Ascii(": ");
                Ascii(request.Headers[i].Value);
            }
            Ascii("\r\n\r\n");
            headAt = ObbdRequest.HeadRoom - headSize;
            if (headAt >= 0)
                Buffer.BlockCopy(head, 0, request.Bytes, headAt, headSize);
        }

        // ---- Steps ------------------------------------------------------------------------------

        public ObbdStep Step(int waitMs)
        {
            try
            {
                long until = Clock.After(waitMs);
                while (true)
                {
                    bool more = Advance();
                    bool streams = phase >= Phase.Body && request.Streams && !Exchange.Refuses(Status);
                    if (phase == Phase.Done)
                        return ObbdStep.Done;
                    if (streams && more)
                        return ObbdStep.Streaming;
                    if (more)
                        continue;
                    int left = Clock.Until(until);
                    bool writes = phase == Phase.Connecting || phase == Phase.Sending;
                    if (left == 0 || !connection.Wait(writes ? SelectMode.SelectWrite : SelectMode.SelectRead, left))
                        return streams ? ObbdStep.Streaming : ObbdStep.Going;
                }
            }
            catch (SocketException error)
            {
                return Fail(error.Message);
            }
            catch (FormatException error)
            {
                return Fail(error.Message);
            }
            catch (ObjectDisposedException)
            {
                return Fail("the client was disposed");
            }
        }

        ObbdStep Fail(string why)
        {
            bool refused = phase == Phase.Connecting;
            Why = refused ? "no connection to " + (transport.SocketPath ?? transport.Base) + ": " + why : "the connection broke: " + why;
            Leave();
            return refused ? ObbdStep.Refused : ObbdStep.Broken;
        }

        /// <summary>Does what can be done without waiting; false if there is nothing.</summary>
        bool Advance()
        {
            switch (phase)
            {
                case Phase.Connecting:
                    return Connect();
                case Phase.Sending:
                    return Send();
                case Phase.Head:
                    return Receive() && ReadHead();
                case Phase.Body:
                    return Receive() && ReadBody();
                default:
                    return false;
            }
        }

        bool Connect()
        {
            try
            {
                return TryConnect();
            }
            catch (SocketException)
            {
                if (connection != null)
                    connection.Close();
                connection = null;
                if (!transport.TryNext())
                    throw;
                return true;
            }
        }

        bool TryConnect()
        {
            if (connection == null)
            {
                connection = transport.Take(buffer);
                if (connection.FreeSince == 0)
                    return true;
            }
            else if (connection.FreeSince == 0)
            {
                if (!connection.Wait(SelectMode.SelectWrite, 0) && !connection.Wait(SelectMode.SelectError, 0))
                    return false;
                int error = (int)connection.Socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.Error);
                if (error != 0)
                    throw new SocketException(error);
            }
            phase = Phase.Sending;
            sendAt = sendBegin = Math.Max(headAt, 0);
            sendEnd = ObbdRequest.HeadRoom + request.BodySize;
            if (headAt < 0)
                SendApart();
            return true;
        }

        /// <summary>A head that is longer than the room in front of the body goes out on its own.</summary>
        void SendApart()
        {
            sendAt = sendBegin = ObbdRequest.HeadRoom;
            for (int at = 0; at < headSize; )
            {
                int sent = connection.Socket.Send(head, at, headSize - at, SocketFlags.None, out SocketError error);
                if (Broke(error))
                    return;
                if (sent > 0)
                    at += sent;
                else
                    connection.Wait(SelectMode.SelectWrite, 100);
            }
        }

        bool Send()
        {
            int size = Math.Min(sendEnd - sendAt, SliceMost);
            if (size > 0)
            {
                if (sendAt > sendBegin && !connection.Wait(SelectMode.SelectWrite, 0))
                    return false;
                int sent = connection.Socket.Send(request.Bytes, sendAt, size, SocketFlags.None, out SocketError error);
                if (Broke(error))
                    return true;
                if (sent > 0)
                    sendAt += sent;
                else
                    return false;
            }
            if (sendAt < sendEnd)
                return true;
            phase = Phase.Head;
            return false; // the answer cannot be there yet
        }

        /// <summary>
        /// Did a write break the connection? Whoever refuses a request may answer and leave before
        /// all of it has come, so what was received is read before that counts.
        /// </summary>
        bool Broke(SocketError error)
        {
            if (error == SocketError.Success || error == SocketError.WouldBlock)
                return false;
            unsent = error;
            phase = Phase.Head;
            return true;
        }

        bool Receive()
        {
            if (end == buffer.Length)
                Array.Resize(ref buffer, checked(2 * buffer.Length));
            int got = connection.Socket.Receive(buffer, end, buffer.Length - end, SocketFlags.None, out SocketError error);
            if (error == SocketError.WouldBlock)
                return false;
            if (unsent != SocketError.Success && (error != SocketError.Success || got == 0))
                error = unsent;
            if (error != SocketError.Success)
                throw new SocketException((int)error);
            if (got == 0)
            {
                if (phase != Phase.Body || framing != Framing.UntilClose)
                    throw new FormatException("the answer was cut");
                lastChunk = true;
            }
            end += got;
            return true;
        }

        // ---- The head of the answer -------------------------------------------------------------

        bool ReadHead()
        {
            for (int i = Math.Max(headEnd, 3); i < end; i++)
                if (buffer[i] == '\n' && buffer[i - 1] == '\r' && buffer[i - 2] == '\n')
                {
                    headEnd = i + 1;
                    rawAt = bodyAt = bodyEnd = headEnd;
                    Understand();
                    if (Status >= 100 && Status < 200 && Status != 101)
                        return ReadNextHead();
                    phase = Phase.Body;
                    return ReadBody();
                }
            headEnd = end; // looked at up to here
            if (end > HeadMost)
                throw new FormatException("the head of the answer is too long");
            return true;
        }

        /// <summary>Forgets a head that was sent ahead of the answer.</summary>
        bool ReadNextHead()
        {
            end -= headEnd;
            Buffer.BlockCopy(buffer, headEnd, buffer, 0, end);
            headEnd = Status = 0;
            return ReadHead();
        }

        void Understand()
        {
            if (end < 12 || !Same(0, "HTTP/1."))
                throw new FormatException("the answer is no HTTP/1.1");
            Status = 100 * (buffer[9] - '0') + 10 * (buffer[10] - '0') + (buffer[11] - '0');
            kept = !HeaderIs("Connection", "close") && unsent == SocketError.Success;
            inChunk = lastChunk = false;
            chunkLeft = 0;
            framing = Framing.Length;
            if (request.Method == "HEAD" || Status == 204 || Status == 304)
                return;
            if (HeaderIs("Transfer-Encoding", "chunked"))
                framing = Framing.Chunks;
            else if (Find("Content-Length", out int at, out int to))
                chunkLeft = Digits(at, to, 10);
            else
            {
                framing = Framing.UntilClose;
                kept = false;
            }
            if (framing == Framing.Length && chunkLeft > buffer.Length - headEnd)
                Array.Resize(ref buffer, checked((int)(headEnd + chunkLeft)));
        }

        long Digits(int at, int to, int radix)
        {
            long n = 0;
            int begin = at;
            for (; at < to; at++)
            {
                int c = buffer[at] | 0x20; // digits have this bit
                int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
                if (digit >= radix)
                    break;
                n = n * radix + digit;
                if (n > int.MaxValue)
                    throw new FormatException("the answer is longer than 2 GiB");
            }
            if (at == begin)
                throw new FormatException("the answer has a length that is no number");
            return n;
        }

        static int Lower(int c)
        {
            return c >= 'A' && c <= 'Z' ? c + 32 : c;
        }

        bool Same(int at, string text)
        {
            for (int i = 0; i < text.Length; i++)
                if (Lower(buffer[at + i]) != Lower(text[i]))
                    return false;
            return true;
        }

        /// <summary>Finds the value of a header between `from` and `to`.</summary>
        bool Find(string name, out int from, out int to)
        {
            from = to = 0;
            for (int line = LineEnd(0) + 1, stop; line < headEnd - 2; line = stop + 1)
            {
                stop = LineEnd(line);
                if (stop - line <= name.Length || buffer[line + name.Length] != ':' || !Same(line, name))
                    continue;
                from = line + name.Length + 1;
                to = stop;
                while (from < to && buffer[from] == ' ')
                    from++;
                while (to > from && (buffer[to - 1] == ' ' || buffer[to - 1] == '\r'))
                    to--;
                return true;
            }
            return false;
        }

        int LineEnd(int at)
        {
            while (buffer[at] != '\n')
                at++;
            return at;
        }

        public string Header(string name)
        {
            return Status != 0 && Find(name, out int from, out int to) ? Encoding.UTF8.GetString(buffer, from, to - from) : null;
        }

        public Dictionary<string, string> Headers()
        {
            var headers = new Dictionary<string, string>();
            for (int line = LineEnd(0) + 1; line < headEnd - 2; line = LineEnd(line) + 1)
            {
                string field = Encoding.UTF8.GetString(buffer, line, LineEnd(line) - line);
                int colon = field.IndexOf(':');
                if (colon > 0)
                    headers[field.Substring(0, colon).ToLowerInvariant()] = field.Substring(colon + 1).Trim();
            }
            return headers;
        }

        public bool HeaderIs(string name, string value)
        {
            return Status != 0 && Find(name, out int from, out int to) && to - from == value.Length && Same(from, value);
        }

        // ---- The body of the answer -------------------------------------------------------------

        /// <summary>
        /// Looks at what was received of the body. Decoded bytes move down, behind those that came before.
        /// </summary>
        bool ReadBody()
        {
            if (framing == Framing.Chunks)
            {
                while (!lastChunk && ReadChunk())
                {
                }
            }
            else
            {
                long take = framing == Framing.Length ? Math.Min(chunkLeft, end - rawAt) : end - rawAt;
                Move((int)take);
                chunkLeft -= take;
                lastChunk |= framing == Framing.Length && chunkLeft == 0;
            }
            if (lastChunk)
                Finish();
            return true;
        }

        void Move(int size)
        {
            if (rawAt != bodyEnd)
                Buffer.BlockCopy(buffer, rawAt, buffer, bodyEnd, size);
            rawAt += size;
            bodyEnd += size;
        }

        /// <summary>Reads a part of a chunk, or the line in front of it; false if more bytes are needed.</summary>
        bool ReadChunk()
        {
            if (inChunk && chunkLeft > 0)
            {
                int size = (int)Math.Min(chunkLeft, end - rawAt);
                Move(size);
                chunkLeft -= size;
                return size > 0;
            }
            int stop = Array.IndexOf(buffer, (byte)'\n', rawAt, end - rawAt);
            if (stop < 0)
                return false;
            if (inChunk)
            {
                inChunk = false; // the line behind a chunk
                lastChunk = chunkLeft < 0;
            }
            else
            {
                inChunk = true;
                chunkLeft = Digits(rawAt, stop, 16);
                if (chunkLeft == 0)
                    chunkLeft = -1; // the last one, behind which comes an empty line
            }
            rawAt = stop + 1;
            return true;
        }

        void Finish()
        {
            phase = Phase.Done;
            if (kept && rawAt == end)
                transport.Give(connection);
            else
                connection.Close();
            connection = null;
        }

        public void Consume(int size)
        {
            bodyAt += size;
            if (bodyAt < bodyEnd && bodyAt < buffer.Length / 2)
                return;
            int body = bodyEnd - bodyAt, raw = end - rawAt;
            Buffer.BlockCopy(buffer, bodyAt, buffer, headEnd, body);
            Buffer.BlockCopy(buffer, rawAt, buffer, headEnd + body, raw);
            bodyAt = headEnd;
            bodyEnd = rawAt = headEnd + body;
            end = rawAt + raw;
        }

        public void Leave()
        {
            if (connection != null)
                connection.Close();
            connection = null;
            phase = Phase.Idle;
        }
    }
}

using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Obbd
{
    /// <summary>The address of a unix socket.</summary>
    sealed class UnixEndPoint : EndPoint
    {
        readonly byte[] path;

        internal UnixEndPoint(string path)
        {
            this.path = Encoding.UTF8.GetBytes(path);
        }

        public override AddressFamily AddressFamily { get { return AddressFamily.Unix; } }

        public override SocketAddress Serialize()
        {
            var address = new SocketAddress(AddressFamily.Unix, 2 + path.Length + 1);
            for (int i = 0; i < path.Length; i++)
                address[2 + i] = path[i];
            address[2 + path.Length] = 0;
            return address;
        }

        public override EndPoint Create(SocketAddress address)
        {
            return this;
        }
    }

    /// <summary>A connection to the daemon, on a socket that does not wait by itself.</summary>
    sealed class HttpConnection
    {
        internal readonly Socket Socket;
        internal long FreeSince;
        readonly HttpTransport transport;

        /// <summary>Begins to connect. Throws SocketException.</summary>
        internal HttpConnection(HttpTransport transport, EndPoint to)
        {
            this.transport = transport;
            bool unix = to.AddressFamily == AddressFamily.Unix;
            Socket = new Socket(to.AddressFamily, SocketType.Stream, unix ? ProtocolType.Unspecified : ProtocolType.Tcp);
            if (!unix)
                Socket.NoDelay = true;
            Socket.Blocking = false;
            try
            {
                Socket.Connect(to);
            }
            catch (SocketException error)
            {
                if (error.SocketErrorCode != SocketError.WouldBlock && error.SocketErrorCode != SocketError.InProgress)
                {
                    Socket.Close();
                    throw;
                }
            }
            transport.Open.Add(this);
        }

        internal bool Wait(SelectMode what, int ms)
        {
            return Socket.Poll(ms < 0 || ms > 1000000 ? 1000000000 : ms * 1000, what);
        }

        /// <summary>Has the daemon closed this connection, or said something that nobody asked for?</summary>
        internal bool IsLeft(byte[] room)
        {
            Socket.Receive(room, 0, 1, SocketFlags.None, out SocketError error);
            return error != SocketError.WouldBlock;
        }

        internal void Close()
        {
            transport.Open.Remove(this);
            Socket.Close();
        }
    }

    /// <summary>HTTP/1.1 on sockets, kept connections, and nothing that judges.</summary>
    sealed class HttpTransport : IObbdTransport
    {
        // The daemon closes a connection that is idle for --request-timeout, 10 s. A request on a connection that is just
        // being closed is the one that nobody can judge, so the client leaves it first.
        const int IdleMs = 5000;
        const string UnixScheme = "unix:";

        internal readonly List<HttpConnection> Open = new List<HttpConnection>(16);
        readonly List<HttpConnection> free = new List<HttpConnection>(16);
        readonly string name;
        readonly int port;
        int address; // of Addresses, that is used now
        bool disposed;

        public string Base { get; private set; }
        public string SocketPath { get; private set; }
        internal readonly string Host;
        /// <summary>The path of the address, which stands before each path; empty if it has none.</summary>
        internal readonly string Prefix;
        /// <summary>The addresses of the host; null if it must be asked for them.</summary>
        internal EndPoint[] Addresses;

        internal HttpTransport(string url)
        {
            Base = url;
            if (url.StartsWith(UnixScheme, StringComparison.Ordinal) && url.Length > UnixScheme.Length)
            {
                SocketPath = url.Substring(UnixScheme.Length);
                Base = "http://localhost";
                Addresses = new EndPoint[] { new UnixEndPoint(SocketPath) };
            }
            if (!Uri.TryCreate(Base, UriKind.Absolute, out Uri uri) || uri.Scheme != "http" || uri.Host.Length == 0)
                throw new ArgumentException("found the address '" + url + "'; it is http://... or unix:/path");
            name = uri.Host.Trim('[', ']');
            port = uri.Port;
            Host = uri.Authority;
            Prefix = uri.AbsolutePath.TrimEnd('/');
        }

        public IObbdCall NewCall(int answerBytes)
        {
            return new HttpCall(this, answerBytes);
        }

        /// <summary>
        /// A connection that was free for the shortest time, or a new one. Throws SocketException, or
        /// ObjectDisposedException.
        /// </summary>
        internal HttpConnection Take(byte[] room)
        {
            if (disposed)
                throw new ObjectDisposedException("ObbdClient");
            long oldest = Clock.Now - IdleMs;
            while (free.Count > 0)
            {
                HttpConnection last = free[free.Count - 1];
                free.RemoveAt(free.Count - 1);
                if (last.FreeSince >= oldest && !last.IsLeft(room))
                    return last;
                last.Close();
            }
            if (Addresses == null)
                Addresses = Resolved();
            return new HttpConnection(this, Addresses[address]);
        }

        EndPoint[] Resolved()
        {
            IPAddress[] found = IPAddress.TryParse(name, out IPAddress literal) ? new[] { literal } : Dns.GetHostAddresses(name);
            if (found.Length == 0)
                throw new SocketException((int)SocketError.HostNotFound);
            return Array.ConvertAll(found, one => new IPEndPoint(one, port));
        }

        /// <summary>
        /// Goes to the next address, for this one refused. False if it was the last: then the name is asked for again by the next
        /// attempt, for the daemon may have moved.
        /// </summary>
        internal bool TryNext()
        {
            if (Addresses != null && ++address < Addresses.Length)
                return true;
            address = 0;
            if (SocketPath == null)
                Addresses = null;
            return false;
        }

        internal void Give(HttpConnection connection)
        {
            connection.FreeSince = Clock.Now;
            free.Add(connection);
        }

        public void Dispose()
        {
            disposed = true;
            while (Open.Count > 0)
                Open[Open.Count - 1].Close();
            free.Clear();
        }
    }
}

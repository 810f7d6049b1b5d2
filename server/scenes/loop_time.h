/* How long the loop may compute at a stretch. Work that is estimated to take longer goes to the
 * pool. */
#ifndef SRV_LOOP_TIME_H
#define SRV_LOOP_TIME_H

/* Nanoseconds. Work that is estimated to take at most this long is done on the loop (see
 * server/README.md): a hop to the pool and back costs about 20 us of CPU and adds as much
 * latency. */
#define SRV_LOOP_NS 100000.0

/* Bytes. Bodies up to this length are decoded on the loop, in about 100 us: a byte takes 1.6 to 2.5
 * ns (make bench-codecs), or 4 ns if the caches are cold. A short body whose decoding turns out to
 * be slow is postponed (see srv_work_decode). */
enum { SRV_LOOP_BODY = 40960 };

#endif

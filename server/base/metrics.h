/* The metrics behind /metrics: counters, gauges and histograms, from one table. On the loop's
 * thread only. */
#ifndef SRV_METRICS_H
#define SRV_METRICS_H

#include "proto/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* X(field, kind, "name", factor from the field to the unit of the name, "help") */
#define SRV_METRICS_TABLE(X)                                                                   \
    X(connections, gauge, "obbd_connections", 1, "Open connections.")                          \
    X(connections_total, counter, "obbd_connections_total", 1, "Connections accepted.")        \
    X(cut_total, counter, "obbd_connections_cut_total", 1,                                     \
      "Connections closed because a request or its answer took too long.")                     \
    X(received_bytes, counter, "obbd_received_bytes_total", 1, "Bytes of request bodies.")     \
    X(sent_bytes, counter, "obbd_sent_bytes_total", 1, "Bytes of answers' bodies.")            \
    X(in_flight_bytes, gauge, "obbd_in_flight_bytes", 1,                                       \
      "Bytes that requests hold beside the scenes.")                                           \
    X(queue, gauge, "obbd_queue", 1, "Heavy requests under way or waiting for a worker.")      \
    X(queue_full_total, counter, "obbd_queue_full_total", 1,                                   \
      "Requests refused because the queue was full.")                                          \
    X(rate_exceeded_total, counter, "obbd_client_rate_exceeded_total", 1,                      \
      "Requests refused because their client was over its rate.")                              \
    X(cancelled_total, counter, "obbd_cancelled_total", 1,                                     \
      "Requests other than event streams given up because the client went or time was over.")  \
    X(followers, gauge, "obbd_followers", 1, "Event streams.")                                 \
    X(events_total, counter, "obbd_events_total", 1, "Messages sent to event streams.")        \
    X(queries_unrecorded_total, counter, "obbd_queries_unrecorded_total", 1,                   \
      "Queries of scenes that record them which were not recorded, for want of room or time.") \
    X(overruns_total, counter, "obbd_event_overruns_total", 1,                                 \
      "Event streams dropped for being slow.")                                                 \
    X(commits_total, counter, "obbd_commits_total", 1, "Commits that changed a scene.")        \
    X(commit_ns_total, counter, "obbd_commit_seconds_total", 1e-9,                             \
      "Time that commits took, refitting broad phases included.")                              \
    X(candidates_total, counter, "obbd_pair_candidates_total", 1,                              \
      "Pairs that the broad phase left in queries for all pairs.")                             \
    X(doubts_total, counter, "obbd_pair_double_tests_total", 1,                                \
      "Those of them that the packed test left to the test in double precision.")              \
    X(scenes, gauge, "obbd_scenes", 1, "Scenes.")                                              \
    X(boxes, gauge, "obbd_boxes", 1, "Boxes and frames in all scenes.")                        \
    X(scene_bytes, gauge, "obbd_scene_bytes", 1,                                               \
      "Bytes of the boxes, indexes and histories of all scenes.")                              \
    X(loop_lag_us, gauge, "obbd_loop_lag_seconds", 1e-6,                                       \
      "Longest time by which a timer of the event loop was late in the last 10 to 20 s.")      \
    X(log_dropped_total, counter, "obbd_log_lines_dropped_total", 1,                           \
      "Log lines dropped because nobody read them and the pipe was full.")                     \
    X(rebuild_us_total, counter, "obbd_index_rebuild_seconds_total", 1e-6,                     \
      "Time that rebuilds of broad phases were under way, waiting for workers and commits "    \
      "included.")                                                                             \
    X(rebuilds_total, counter, "obbd_index_rebuilds_total", 1,                                 \
      "Broad phases rebuilt in the background.")                                               \
    X(workers, gauge, "obbd_workers", 1, "Threads for heavy work.")                            \
    X(connection_limit, gauge, "obbd_connection_limit", 1, "Most open connections.")           \
    X(queue_limit, gauge, "obbd_queue_limit", 1, "Most heavy requests under way or waiting.")  \
    X(client_rate, gauge, "obbd_client_rate_limit", 1,                                         \
      "Most requests a second of one client; 0: no limit.")                                    \
    X(body_limit, gauge, "obbd_body_limit_bytes", 1, "Longest request body.")                  \
    X(memory_limit, gauge, "obbd_in_flight_limit_bytes", 1,                                    \
      "Most bytes of bodies and answers in memory.")                                           \
    X(scene_limit, gauge, "obbd_scene_limit", 1, "Most scenes.")                               \
    X(box_limit, gauge, "obbd_box_limit", 1, "Most boxes and frames in all scenes.")           \
    X(scene_memory, gauge, "obbd_scene_memory_limit_bytes", 1,                                 \
      "Most bytes of all scenes; 0: no limit.")                                                \
    X(timeout_ms, gauge, "obbd_request_timeout_seconds", 1e-3,                                 \
      "Time for a request's headers, its body and its work, each.")

/* Those of the journal, which are told only if there is one. */
#define SRV_JOURNAL_METRICS_TABLE(X)                                                         \
    X(journal_records, counter, "obbd_journal_records_total", 1,                             \
      "Records that were written to the journal.")                                           \
    X(journal_bytes, counter, "obbd_journal_bytes_total", 1,                                 \
      "Bytes of records and snapshots that were written to the journal.")                    \
    X(journal_groups, counter, "obbd_journal_groups_total", 1,                               \
      "Groups of records that were written, each with one sync.")                            \
    X(journal_sync_us, counter, "obbd_journal_sync_seconds_total", 1e-6,                     \
      "Time that the journal waited for the disk.")                                          \
    X(journal_sync_ms, gauge, "obbd_journal_sync_after_seconds", 1e-3,                       \
      "Time within which a commit is on disk after its answer; 0: before its answer.")       \
    X(journal_void, counter, "obbd_journal_void_total", 1,                                   \
      "Records of a log of many daemons that do not count.")                                 \
    X(journal_conflicts, counter, "obbd_journal_conflicts_total", 1,                         \
      "Commits of other daemons that came before those of this one.")                        \
    X(journal_snapshots, counter, "obbd_journal_snapshots_total", 1, "Snapshots of scenes.") \
    X(journal_loads, counter, "obbd_journal_loads_total", 1,                                 \
      "Scenes that were loaded from a snapshot of a log of many daemons.")                   \
    X(journal_differed, counter, "obbd_journal_differed_total", 1,                           \
      "Scenes that were not what the log of many daemons says, and were loaded again.")      \
    X(journal_disputed, counter, "obbd_journal_disputed_total", 1,                           \
      "Hashes in records of the log of many daemons that its own records do not bear out.")  \
    X(journal_passed_over, counter, "obbd_journal_passed_over_total", 1,                     \
      "Snapshots that could not be loaded.")                                                 \
    X(journal_purges, counter, "obbd_journal_purges_total", 1,                               \
      "Purges of messages that newer snapshots made needless.")                              \
    X(journal_failures, counter, "obbd_journal_failures_total", 1,                           \
      "Groups that could not be written, and upkeep that failed.")                           \
    X(journal_size, gauge, "obbd_journal_size_bytes", 1, "Bytes of the journal's files.")    \
    X(journal_lag, gauge, "obbd_journal_lag_records", 1,                                     \
      "Records and pieces of snapshots that wait to be written.")                            \
    X(journal_lag_ms, gauge, "obbd_journal_lag_seconds", 1e-3,                               \
      "For how long the log of many daemons has held records that are not applied here.")    \
    X(journal_marks, counter, "obbd_journal_marks_total", 1,                                 \
      "Marks that were read of a log of many daemons, for reads that are fresh.")            \
    X(journal_awaiting, gauge, "obbd_journal_awaiting", 1,                                   \
      "Requests that wait for a revision, or for a mark, of a log of many daemons.")         \
    X(journal_asleep, gauge, "obbd_scenes_asleep", 1,                                        \
      "Scenes of a log of many daemons that are not held here.")                             \
    X(journal_wakes, counter, "obbd_scene_wakes_total", 1,                                   \
      "Scenes that were made from the log because somebody asked for them.")                 \
    X(journal_sleeps, counter, "obbd_scene_sleeps_total", 1,                                 \
      "Scenes that were given up because nobody asked for them, or made elsewhere.")         \
    X(journal_wake_failures, counter, "obbd_scene_wake_failures_total", 1,                   \
      "Tries to make a scene from the log that failed.")                                     \
    X(journal_broken, gauge, "obbd_journal_broken", 1,                                       \
      "1 while nothing can be written, because the disk is full or has failed.")

/* The thread that did the work of a request. */
typedef enum srv_cost { SRV_ON_LOOP, SRV_ON_POOL, SRV_COSTS } srv_cost;

/* Upper bounds of the latency histograms, in seconds. */
#define SRV_LATENCY_BOUNDS                                                                   \
    {                                                                                        \
        25e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, \
            200e-3, 500e-3, 1, 10                                                            \
    }
enum { SRV_LATENCIES = 16 };

/* The statuses that are counted apart; 0: no answer was sent. */
#define SRV_STATUS_LIST                                                                         \
    {                                                                                           \
        0, 200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 429, \
            500, 503, 507                                                                       \
    }
enum { SRV_STATUSES = 22 }; /* the last: any other status */

struct srv_metrics {
    bool has_journal;
#define SRV_METRIC_FIELD(field, kind, name, worth, help) uint64_t field;
    SRV_METRICS_TABLE(SRV_METRIC_FIELD)
    SRV_JOURNAL_METRICS_TABLE(SRV_METRIC_FIELD)
#undef SRV_METRIC_FIELD
    struct {
        uint64_t counts[SRV_LATENCIES + 1]; /* the last: above all bounds */
        double sum;
    } latency[SRV_COSTS];
    struct srv_metrics_route {
        const char *method, *pattern; /* labels, not owned */
        uint64_t requests[SRV_STATUSES];
    } * routes; /* owned: route_count of them, and one more with empty labels for no route */
    size_t route_count;
};

/* route_count: the number of routes, whose labels are empty at first. Returns false without
 * memory. */
bool srv_metrics_init(struct srv_metrics *metrics, size_t route_count);
/* Accepts zeroes. */
void srv_metrics_fini(struct srv_metrics *metrics);

/* Sets the labels of a route, for example "GET" and "/v1/scenes/{scene}". The texts must outlive
 * the metrics. */
void srv_metrics_label(struct srv_metrics *metrics, size_t route, const char *method,
                       const char *pattern);

/* Counts the status of a request that is over. route: its index, or metrics->route_count if it had
 * none. status: HTTP's, 0 for none. */
void srv_metrics_status(struct srv_metrics *metrics, size_t route, int status);

/* Does the same, and counts the time that the request took. */
void srv_metrics_request(struct srv_metrics *metrics, size_t route, int status, srv_cost cost,
                         double seconds);

/* Appends all metrics in the Prometheus text format, version 0.0.4. Without memory buf->failed is
 * set. */
void srv_metrics_write(const struct srv_metrics *metrics, struct wire_buf *buf);

/* Appends the figures that the system keeps of this process, under the names of Prometheus' own
 * clients. */
void srv_metrics_write_process(struct wire_buf *buf);

#endif

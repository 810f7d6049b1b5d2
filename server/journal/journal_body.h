/* What the kinds of journals have in common: for the files of this room that are one. */
#ifndef SRV_JOURNAL_BODY_H
#define SRV_JOURNAL_BODY_H

#include "server/journal/journal.h"

/* The functions of journal.h that each kind does in its own way. */
struct srv_journal_calls {
    void (*append)(struct srv_journal *journal, struct srv_entry *entry);
    void (*forget)(struct srv_journal *journal, uint64_t seq);
    void (*hurry)(struct srv_journal *journal);
    srv_journal_status (*state)(struct srv_journal *journal);
    size_t (*waiting)(struct srv_journal *journal);
    uint64_t (*lag_ms)(struct srv_journal *journal); /* NULL: nobody else writes */
    wire_record_id (*newest)(struct srv_journal *journal, obb_str name);
    /* NULL: it has no excerpts. */
    void (*read)(struct srv_journal *journal, struct srv_excerpt *excerpt);
    void (*read_end)(struct srv_journal *journal);
    /* NULL: no scene sleeps. */
    bool (*asleep)(const struct srv_journal *journal, obb_str name, srv_asleep *out);
    bool (*next_asleep)(const struct srv_journal *journal, obb_str after, srv_asleep *out);
    bool (*wake)(struct srv_journal *journal, obb_str name, struct srv_wake_wait *wait);
    void (*destroy)(struct srv_journal *journal);
};

/* The first member of every kind. */
struct srv_journal {
    const struct srv_journal_calls *calls;
    bool holds_pieces, seals;
    uint64_t number; /* the last one of srv_journal_number */
    _Atomic uint64_t seen;
    struct srv_journal_figures figures;
};

#endif

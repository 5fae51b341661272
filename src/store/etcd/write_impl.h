/*
 * etcd_write_impl - what accompanies a write; for etcd/write.c and etcd/write_feed.c only.
 */
#ifndef STORE_ETCD_WRITE_IMPL_H
#define STORE_ETCD_WRITE_IMPL_H

#include "store/etcd/client.h"
#include "store/etcd/write.h"

enum etcd_verdict {
	VERDICT_SUCCEEDED, /* etcd's answer */
	VERDICT_CONFLICTED, /* etcd's answer to the first and only try */
	VERDICT_CHANGED, /* the compare of the last of several tries failed */
	VERDICT_ASKED, /* a creation without an answer: only the feed can show it */
};

struct etcd_write {
	struct etcd_call call;
	struct etcd_writes *all;
	struct store_write *w;
	struct list link; /* of one of the lists */
	struct list followers;
	struct etcd_write *older; /* sent write of the same key */
	int64_t expected;
	int64_t floor; /* the write was decided on what the key was at this revision */
	bool in_flight;
	bool is_landed;
	bool doubtful; /* a try went unanswered */
	int64_t give_up; /* ms: when doubtful, until when to pursue it */
	enum etcd_verdict verdict;
	int64_t reached; /* revision of the answer: the feed must get there */
	unsigned epoch; /* of the feed when it was sent: all changes since then were seen */
	uint64_t stamp;
	int64_t seen; /* revision of the change with our stamp; 0: not delivered */
	bool overtaken; /* the feed delivered another change of the key behind `floor` */
	struct error err; /* what failed; code 0: nothing */
	size_t nkey;
	char key[];
};

/*
 * Decides from the verdict and from what the feed has shown: sets the write's
 * revision, or the record's error. `complete`: the feed has shown all up to the
 * revision of the answer.
 */
void etcd_write_judge(struct etcd_write *rec, bool complete);

/* Tells the writer, passes the result on to what comes after, and frees the record. */
void etcd_write_settle(struct etcd_write *rec);

#endif

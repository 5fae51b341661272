/*
 * etcd_write_impl - what accompanies a write; for etcd_write.c and etcd_write_feed.c only.
 */
#ifndef STORE_ETCD_WRITE_IMPL_H
#define STORE_ETCD_WRITE_IMPL_H

#include "store/etcd_client.h"
#include "store/etcd_write.h"

enum etcd_verdict {
	VERDICT_SUCCEEDED, /* etcd said so */
	VERDICT_CONFLICTED, /* etcd said so, at the first and only try */
	VERDICT_CHANGED, /* sent more than once, and the last try found the key changed */
	VERDICT_ASKED, /* a creation that may have happened; the feed is to tell */
};

struct etcd_write {
	struct etcd_call call;
	struct etcd_writes *all;
	struct store_write *w;
	struct list link; /* of one of the lists */
	struct list followers;
	struct etcd_write *older; /* sent write of the same key */
	int64_t expected;
	int64_t floor; /* changes of the key at or before it are not ours */
	bool in_flight;
	bool is_landed;
	bool doubtful; /* a try went unanswered */
	int64_t give_up; /* ms: when doubtful, until when to pursue it */
	enum etcd_verdict verdict;
	int64_t reached; /* revision of the answer: the feed must get there */
	unsigned epoch; /* of the feed when it was sent: all changes since then were seen */
	/* The key's first change behind `floor` that the feed delivered; 0: none. */
	int64_t seen;
	bool seen_same; /* it made what we want */
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

/*
 * etcd_write_impl - the record of a write in flight; for etcd/write.c and etcd/write_feed.c only.
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
	struct list link; /* in one of the lists */
	struct list followers;
	struct etcd_write *older; /* an earlier write of the same key that was sent */
	int64_t expected;
	int64_t floor; /* the write was decided on the key's state at this revision */
	bool in_flight;
	bool is_landed;
	bool doubtful; /* a try was not answered */
	int64_t give_up; /* ms: when to stop trying, if doubtful */
	enum etcd_verdict verdict;
	int64_t reached; /* revision of the answer, which the feed must reach */
	/* The feed's epoch when it was sent; if unchanged, all changes since were seen. */
	unsigned epoch;
	uint64_t stamp;
	int64_t seen; /* revision of the change with our stamp; 0: not delivered */
	bool overtaken; /* the feed delivered another change of the key after `floor` */
	struct error err; /* the error; code 0: none */
	size_t nkey;
	char key[];
};

/*
 * Decides the outcome from the verdict and from what the feed has shown. Sets the write's revision,
 * or the record's error. `complete`: the feed has shown everything up to the revision of the
 * answer.
 */
void etcd_write_judge(struct etcd_write *rec, bool complete);

/* Calls the writer's done(), passes the result on to the writes after it, and frees the record. */
void etcd_write_settle(struct etcd_write *rec);

#endif

/* nvidia_driver_impl - shared by the files of drivers/nvidia. */
#ifndef DRIVERS_NVIDIA_DRIVER_IMPL_H
#define DRIVERS_NVIDIA_DRIVER_IMPL_H

#include "base/core/buf.h"
#include "base/core/list.h"
#include "base/report/log.h"
#include "drivers/gpu_health/book.h"
#include "drivers/gpu_health/kmsg_reader.h"
#include "drivers/nvidia/driver.h"
#include "drivers/nvidia/measure.h"
#include "drivers/nvidia/share.h"
#include "drivers/nvml/worker.h"
#include "drivers/sdk/driver.h"
#include "net/loop/loop.h"

enum {
	NVIDIA_POLL_MS = 5000,
	NVIDIA_SCAN_MS = 60000, /* instances of others are noticed at the latest after this */
	NVIDIA_SETTLE_MS = 500, /* after an event about MIG */
	NVIDIA_RECENT = 16, /* Xids of the kernel's log that are kept */
	NVIDIA_RECENT_MS = 2000, /* between the kernel's line and NVML's event */
	NVIDIA_TIDY_FIRST_MS = 2000,
	NVIDIA_TIDY_MS = 10000, /* between returns of memory that is not in use */
	NVIDIA_DEADLINE_MS = 10000,
	NVIDIA_CLAIM_MS = 40000, /* at most for a claim: the kubelet waits 45 s */
};

/* The uses of the book, as the last job saw them. */
struct nvidia_holders {
	struct arena arena;
	struct gpu_holder *v;
	size_t n;
};

/* An Xid of the kernel's log: it has the process, which NVML's event lacks. */
struct nvidia_kernel_xid {
	struct kmsg_pci pci;
	uint32_t xid, pid;
	char name[64];
	int64_t at_ms; /* of the loop */
};

struct nvidia_driver {
	struct nvidia_driver_opts opts;
	struct arena arena; /* paths */
	const char *name, *health_path, *known_path;
	char *boot_id;
	struct dp_driver *driver;
	struct nvml_worker *worker;
	struct gpu_prepare *prepare; /* only jobs of the worker touch it */

	struct nvidia_snapshot *snapshot; /* NULL: not read yet */
	struct nvidia_holders *holders; /* or NULL */
	struct buf known; /* the details of the GPUs, as the file has them */
	struct error failure; /* why there is no snapshot */
	char logged[512]; /* the last failure that was logged */

	struct gpu_health_book *health;
	struct xid_rules *rules;
	struct gpu_health_opts health_opts;
	struct kmsg_reader *kmsg; /* NULL: the kernel's log cannot be read */
	struct nvidia_kernel_xid recent[NVIDIA_RECENT]; /* a ring */
	size_t nrecent; /* ever */

	struct nvidia_shares *shares;
	struct nvidia_measure *measure; /* NULL: no metrics */
	struct list claims; /* of struct claim_job */
	struct scan_job *scan; /* under way, or NULL */
	struct poll_job *poll;
	bool scan_again, poll_again;
	bool claims_known; /* the SDK's checkpoint was read: registered() was called */
	bool taken_over; /* shares of an earlier run */
	bool was_ready;
	bool stopping;
	struct loop_timer scan_timer, poll_timer, tidy_timer;
	void (*on_stopped)(void *arg);
	void *stopped_arg;
};

/* Logs a failure unless it is the one that was logged last. */
void nvidia_warn(struct nvidia_driver *d, const char *what, const struct error *err);

/* Takes over what an earlier run of the driver left, once both the GPUs and claims are known. */
void nvidia_take_over(struct nvidia_driver *d);

/* scan.c: reads the GPUs again, now or after the scan that is under way. */
void nvidia_scan(struct nvidia_driver *d);
void nvidia_scan_soon(struct nvidia_driver *d); /* a little later */
/* Copies the uses of the book, on the worker's thread; takes them over, on the loop. */
struct nvidia_holders *nvidia_holders_read(const struct gpu_prepare *p);
void nvidia_holders_free(struct nvidia_holders *h); /* NULL allowed */
void nvidia_set_holders(struct nvidia_driver *d, struct nvidia_holders **from);

/* publish.c: hands devices, health and taints to the SDK. */
void nvidia_publish(struct nvidia_driver *d);

/* claims.c: callbacks of the SDK. */
int nvidia_prepare(void *arg, struct dp_claim *c);
int nvidia_unprepare(void *arg, struct dp_claim *c);
/* NVML does not answer: fails the claims that wait for it. */
void nvidia_claims_on_silent(struct nvidia_driver *d);
/* Undoes uses of claims that the SDK does not know: nobody will unprepare them. */
void nvidia_claims_drop_forgotten(struct nvidia_driver *d);

/* health.c */
void nvidia_poll(struct nvidia_driver *d);
uint32_t nvidia_poll_ms(const struct nvidia_driver *d);
uint32_t nvidia_deadline_ms(const struct nvidia_driver *d);
void nvidia_on_event(void *arg, const struct nvml_event *e);
void nvidia_on_silent(void *arg, bool silent);
void nvidia_on_kernel_xid(void *arg, const struct kmsg_xid *x);
struct gpu_health *nvidia_health_of(struct nvidia_driver *d, const struct gpu_source *s);

#endif

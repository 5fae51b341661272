/*
 * nvidia_measure - metrics of GPUs and of the claims that hold them.
 *
 *	devplane_nvidia_utilization_ratio, _memory_used_bytes, _memory_total_bytes,
 *	_temperature_celsius, _power_watts, _ecc_corrected_errors, _ecc_uncorrected_errors
 *	{gpu, uuid, namespace, claim, pod}: one series for each GPU. The last three labels name the
 *	claim that has the whole GPU for itself. They are empty if no claim has it, if several
 *	share it, or if its partitions are held
 *	devplane_nvidia_slowdown{gpu, uuid, namespace, claim, pod, reason}
 *	devplane_nvidia_xids_total{gpu, uuid, xid}
 *	devplane_nvidia_claim_xids_total{device, uuid, namespace, claim, pod, xid}: until the claim
 *	is unprepared
 *	devplane_nvidia_device_held{device, uuid, namespace, claim, pod}: 1 for each device that a
 *	claim holds; `uuid` is that of the physical GPU, to join with the others
 *	devplane_nvidia_partition_memory_used_bytes{device, uuid, namespace, claim, pod}: of the
 *	programs on a partition that a claim holds
 *
 * `pod` is the first one that the claim was reserved for when it was prepared; empty: not known.
 * Pods that use the claim later do not change it.
 *
 * Threads: the loop's.
 */
#ifndef DRIVERS_NVIDIA_MEASURE_H
#define DRIVERS_NVIDIA_MEASURE_H

#include "drivers/gpu_prepare/prepare.h"

struct metrics;
struct nvidia_measure;

struct nvidia_measure *nvidia_measure_new(struct metrics *m);
void nvidia_measure_free(struct nvidia_measure *m); /* NULL allowed */

/* Values that the sample does not have are removed. All functions accept NULL and do nothing. */
void nvidia_measure_gpu(struct nvidia_measure *m, const struct nvml_gpu *g,
			const struct nvml_sample *s);
void nvidia_measure_xid(struct nvidia_measure *m, const struct nvml_gpu *g, uint32_t xid);
/* The same for a claim that holds the device of the Xid. */
void nvidia_measure_fault(struct nvidia_measure *m, const struct gpu_holder *h, uint32_t xid);

/* The processes of the holder's GPU. Full GPUs are left out: nvidia_measure_gpu() has them. */
void nvidia_measure_partition(struct nvidia_measure *m, const struct gpu_holder *h,
			      const struct nvml_process *v, size_t n);

/* Replaces the list of holders. Series of GPUs get their new labels at once. */
void nvidia_measure_holders(struct nvidia_measure *m, const struct gpu_holder *v, size_t n);

#endif

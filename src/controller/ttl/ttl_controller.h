/*
 * ttl_controller - deletes Jobs some time after they have finished.
 *
 * Upstream's TTL-after-finished controller. A Job with spec.ttlSecondsAfterFinished is deleted,
 * with its pods, that long after its condition Complete or Failed. Before that the controller reads
 * it again, and deletes only that version, so a TTL that was just raised counts. Each Job that
 * waits has a timer; nothing is polled.
 */
#ifndef CONTROLLER_TTL_TTL_CONTROLLER_H
#define CONTROLLER_TTL_TTL_CONTROLLER_H

struct context;
struct ttl_controller;

struct ttl_controller *ttl_controller_new(const struct context *ctx);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void ttl_controller_free(struct ttl_controller *c);

#endif

/*
 * A finding quotes files and replies of servers, so its text is cleaned for the terminal.
 */
#include "cli/doctor/doctor.h"

#include <stdarg.h>

#include "base/core/limits.h"
#include "cli/program/clean.h"

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *subject,
		const char *hint, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT(64 * KIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	output_clean(&text, buf_str(&raw));
	(void)vec_push(&d->findings, (struct doctor_finding){
					     .verdict = verdict,
					     .subject = arena_strdup(d->arena, str_from(subject)),
					     .text = arena_strdup(d->arena, buf_str(&text)),
					     .hint = hint });
}

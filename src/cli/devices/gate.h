/*
 * device_gate - the flag --feature-gates of commands that show what is free (KEP-5677's gate).
 */
#ifndef CLI_DEVICES_GATE_H
#define CLI_DEVICES_GATE_H

#include "cli/program/cli.h"

/* The row for it; `member` is a struct flag_list of the options struct. */
#define DEVICE_GATE_FLAG(type, member)                                                             \
	{                                                                                          \
		"feature-gates", 0, FLAG_LIST(type, member),                                       \
			.arg = "NAME=BOOL",                                                        \
			.help = "DRAResourceAvailabilityVisibility=false hides which devices are " \
				"free and who holds them"                                          \
	}

/* An invalid list is bad usage. */
int device_gate_read(struct cli *cli, const struct flag_list *list, bool *ret_hidden,
		     struct error *err);

/* For commands that show nothing else: returns -ERR_FORBIDDEN if the gate is off. */
int device_gate_need(struct cli *cli, const struct flag_list *list, struct error *err);

#endif

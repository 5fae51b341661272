/*
 * doctor_arguments - flags in the arguments of a container, as the variants of deploy/ set them.
 */
#ifndef CLI_DOCTOR_ARGUMENTS_H
#define CLI_DOCTOR_ARGUMENTS_H

#include <stdbool.h>

struct json;

/* A flag that is on; with `item`, a list that has it. No flag: always there. */
struct doctor_flag {
	const char *name, *item;
};

/* `args`: an array of texts, each FLAG or FLAG=VALUE. */
bool doctor_has_flag(const struct json *args, const struct doctor_flag *flag);

#endif

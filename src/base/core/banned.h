/*
 * banned - functions that no file may call, made into compile errors.
 *
 * They overflow, hide errors, keep hidden state or are not thread-safe. Use
 * buf_printf, str_*, parse_i64, time_* instead.
 */
#ifndef BASE_CORE_BANNED_H
#define BASE_CORE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With _FORTIFY_SOURCE the C library makes macros of these for clang. */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets atoi atol atoll atof
#pragma GCC poison gmtime localtime ctime asctime rand srand tmpnam mktemp

#endif

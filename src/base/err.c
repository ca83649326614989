#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	va_list ap;

	memset(err, 0, sizeof(*err));
	err->code = code;
	err->sys = sys;
	va_start(ap, fmt);
	int n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (sys != 0 && n >= 0 && (size_t)n < sizeof(err->msg)) {
		snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", strerror(sys));
	}
	return false;
}

bool err_at(struct err *err, const struct origin *from)
{
	if (from->file != NULL) {
		snprintf(err->file, sizeof(err->file), "%s", from->file);
	} else if (from->flag != NULL) {
		snprintf(err->file, sizeof(err->file), "%s", from->flag);
	}
	err->line = from->line;
	err->col = from->col;
	return false;
}

bool err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return false;
}

bool err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	va_list ap;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	int n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->msg)) {
		snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", inner);
	}
	return false;
}

struct err *err_list_next(struct err_list *list)
{
	list->total++;
	if (list->n < ERR_LIST_MAX) {
		list->n++;
	}
	return &list->v[list->n - 1];
}

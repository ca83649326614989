/* PATH look-up and what a program file needs: its loader, or the interpreter of its first line. */
#include "base/fd.h"
#include "base/str.h"
#include "plan/facts.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel reads this much of a file to see what it is (BINPRM_BUF_SIZE). */
#define SCRIPT_BYTES 256
/* Most programs have their program headers and their loader's name in here: one read for all. */
#define HEAD_BYTES 1024

/* The beginning of a program's file, which can hold anything. */
struct head {
	int fd;
	size_t len;
	unsigned char data[HEAD_BYTES + 1];
};

/* What stands in the file at `offset`. */
static bool read_at(const struct head *head, uint64_t offset, void *to, size_t size)
{
	if (offset <= head->len && size <= head->len - offset) {
		memcpy(to, head->data + offset, size);
		return true;
	}
	return offset <= INT32_MAX && pread(head->fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Its file, as `p` has it of another program where it is the same one; NULL: there is none. */
static void set_loader(const char *name, struct arena *arena, struct program_fact *p)
{
	struct path_info at;
	struct err ignored;

	if (p->loader_name == NULL || !str_eq(p->loader_name, name)) {
		p->loader_name = arena_strdup(arena, name);
		p->loader_file =
			resolve_path(name, arena, &at, &ignored) && at.exists ? at.real : NULL;
	}
	p->loader = p->loader_file;
}

/* PT_INTERP of a 32- or 64-bit ELF file of this byte order. */
static void elf_loader(const struct head *file, struct arena *arena, struct program_fact *program)
{
	const unsigned char *head = file->data;
	size_t len = file->len;
	uint64_t phoff;
	uint16_t phnum;
	uint16_t phentsize;
	bool wide = head[EI_CLASS] == ELFCLASS64;
	char name[PATH_MAX];

	if (wide && len >= sizeof(Elf64_Ehdr)) {
		Elf64_Ehdr h;
		memcpy(&h, head, sizeof(h));
		phoff = h.e_phoff;
		phnum = h.e_phnum;
		phentsize = h.e_phentsize;
	} else if (head[EI_CLASS] == ELFCLASS32 && len >= sizeof(Elf32_Ehdr)) {
		Elf32_Ehdr h;
		memcpy(&h, head, sizeof(h));
		phoff = h.e_phoff;
		phnum = h.e_phnum;
		phentsize = h.e_phentsize;
	} else {
		return;
	}
	if (phentsize != (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || phoff > INT32_MAX) {
		return;
	}
	/* PT_INTERP is among the first entries: it must come before any PT_LOAD (gABI). */
	for (uint16_t i = 0; i < phnum && i < 64; i++) {
		Elf64_Phdr p64;
		Elf32_Phdr p32;
		void *p = wide ? (void *)&p64 : (void *)&p32;

		if (!read_at(file, phoff + (uint64_t)i * phentsize, p, phentsize)) {
			return;
		}
		if ((wide ? p64.p_type : p32.p_type) != PT_INTERP) {
			continue;
		}
		uint64_t size = wide ? p64.p_filesz : p32.p_filesz;
		uint64_t off = wide ? p64.p_offset : p32.p_offset;
		if (size >= 2 && size <= sizeof(name) && read_at(file, off, name, size) &&
		    name[size - 1] == '\0') {
			set_loader(name, arena, program);
		}
		return;
	}
}

static const char *find_on_path(const char *name, const struct machine *machine,
				struct arena *arena)
{
	for (size_t i = 0; i < machine->path_folders.n; i++) {
		const char *path =
			arena_printf(arena, "%s/%s", machine->path_folders.v[i].name, name);
		struct path_info at;
		struct err ignored;

		if (access(path, X_OK) == 0 && resolve_path(path, arena, &at, &ignored) &&
		    S_ISREG(at.mode)) {
			return at.real;
		}
	}
	return NULL;
}

static void script_interpreter(char *head, const struct machine *machine, struct arena *arena,
			       struct program_fact *p)
{
	char *line = head + 2 + strspn(head + 2, " \t");
	size_t n = strcspn(line, " \t\n\r");

	if (n == 0) {
		return;
	}
	struct path_info at;
	struct err ignored;
	p->script = arena_strndup(arena, line, n);
	if (p->script[0] == '/' && resolve_path(p->script, arena, &at, &ignored) && at.exists) {
		p->script_real = at.real;
	}
	line += n;
	line += strspn(line, " \t");
	n = strcspn(line, " \t\n\r");
	if (n > 0) {
		p->script_arg = arena_strndup(arena, line, n);
		if (str_eq(path_base(p->script), "env")) {
			p->script_arg_real = find_on_path(p->script_arg, machine, arena);
		}
	}
}

/* Looks at the file for its loader or interpreter. */
static void read_head(const struct machine *machine, struct arena *arena, struct program_fact *p)
{
	struct head head;
	auto_close int fd = open(p->at.real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, head.data, HEAD_BYTES, 0);

	if (n <= 2) {
		return;
	}
	head.fd = fd;
	head.len = (size_t)n;
	head.data[n] = '\0';
	if (n > EI_CLASS && memcmp(head.data, ELFMAG, SELFMAG) == 0) {
		elf_loader(&head, arena, p);
	} else if (head.data[0] == '#' && head.data[1] == '!') {
		head.data[n < SCRIPT_BYTES ? n : SCRIPT_BYTES] = '\0';
		script_interpreter((char *)head.data, machine, arena, p);
	}
}

/* True when `path` is a file this user may execute; fills `p`. */
static bool try_program(const char *path, const struct machine *machine, struct arena *arena,
			struct program_fact *p)
{
	struct err ignored;

	if (access(path, X_OK) < 0 || !resolve_path(path, arena, &p->at, &ignored) ||
	    !p->at.exists || !S_ISREG(p->at.mode)) {
		return false;
	}
	p->found = true;
	read_head(machine, arena, p);
	return true;
}

void program_look_up(const char *name_or_path, const struct machine *machine, struct arena *arena,
		     struct program_fact *ret_program)
{
	struct program_fact p = {.item = ret_program->item,
				 .loader_name = ret_program->loader_name,
				 .loader_file = ret_program->loader_file};
	struct err ignored;

	if (strchr(name_or_path, '/') != NULL) {
		const char *path =
			name_or_path[0] == '/'
				? name_or_path
				: arena_printf(arena, "%s/%s", machine->cwd.name, name_or_path);
		if (!try_program(path, machine, arena, &p) &&
		    !resolve_path(path, arena, &p.at, &ignored)) {
			p.at = (struct path_info){.name = path, .real = path};
		}
		*ret_program = p;
		return;
	}
	for (size_t i = 0; i < machine->path_folders.n; i++) {
		const char *path =
			arena_printf(arena, "%s/%s", machine->path_folders.v[i].name, name_or_path);

		if (try_program(path, machine, arena, &p)) {
			break;
		}
	}
	*ret_program = p;
}

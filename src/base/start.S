/* The program's first instructions on x86-64, before the C library's own: they do there what
 * pages_ready() does later (pages.h), for the library's start alone takes some thirty page faults.
 *
 * At entry the stack holds what the C library reads and rdx what it registers for exit (System V
 * ABI, AMD64 supplement, 3.4.1); both are left as they are. A failure is no error: then the pages
 * come one by one. */
	.text
	.globl	lnk_start
	.type	lnk_start, @function
lnk_start:
	mov	%rdx, %r9
	/* Code and constants: MADV_POPULATE_READ. */
	lea	__executable_start(%rip), %rdi
	lea	_GLOBAL_OFFSET_TABLE_(%rip), %r8
	and	$-4096, %r8
	mov	%r8, %rsi
	sub	%rdi, %rsi
	mov	$22, %edx
	mov	$28, %eax
	syscall
	/* Data: MADV_POPULATE_WRITE. */
	mov	%r8, %rdi
	lea	_edata(%rip), %rsi
	sub	%rdi, %rsi
	mov	$23, %edx
	mov	$28, %eax
	syscall
	/* The library's own variables, which are linked last. */
	lea	_end - 0x7000(%rip), %rdi
	and	$-4096, %rdi
	mov	$0x7000, %esi
	mov	$28, %eax
	syscall
	/* The stack that a start takes. */
	lea	-0x10000(%rsp), %rdi
	and	$-4096, %rdi
	mov	$0x10000, %esi
	mov	$28, %eax
	syscall
	mov	%r9, %rdx
	jmp	_start
	.size	lnk_start, . - lnk_start
	.section .note.GNU-stack, "", @progbits

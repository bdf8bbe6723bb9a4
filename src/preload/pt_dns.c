/* SPDX-License-Identifier: Apache-2.0 */
/* pt_dns.c - host names. libc and its modules ask servers by calls inside libc that we
 * do not see. So the whole call is bracketed: a server may not answer. */
#include <netdb.h>

#include "preload/pt_calls.h"

LIBC_API int getaddrinfo(const char *restrict node, const char *restrict service,
			 const struct addrinfo *restrict hints,
			 struct addrinfo **restrict out)
{
	return POSIX_BRACKET(getaddrinfo, node, service, hints, out);
}

LIBC_API int getnameinfo(const struct sockaddr *restrict addr, socklen_t len,
			 char *restrict host, socklen_t hosts, char *restrict service,
			 socklen_t services, int flags)
{
	return POSIX_BRACKET(getnameinfo, addr, len, host, hosts, service, services,
			     flags);
}

LIBC_API struct hostent *gethostbyname(const char *name)
{
	return POSIX_BRACKET(gethostbyname, name);
}

LIBC_API struct hostent *gethostbyname2(const char *name, int family)
{
	return POSIX_BRACKET(gethostbyname2, name, family);
}

LIBC_API struct hostent *gethostbyaddr(const void *addr, socklen_t len, int type)
{
	return POSIX_BRACKET(gethostbyaddr, addr, len, type);
}

LIBC_API int gethostbyname_r(const char *restrict name, struct hostent *restrict host,
			     char *restrict buf, size_t n,
			     struct hostent **restrict result, int *restrict err)
{
	return POSIX_BRACKET(gethostbyname_r, name, host, buf, n, result, err);
}

LIBC_API int gethostbyname2_r(const char *restrict name, int family,
			      struct hostent *restrict host, char *restrict buf,
			      size_t n, struct hostent **restrict result,
			      int *restrict err)
{
	return POSIX_BRACKET(gethostbyname2_r, name, family, host, buf, n, result, err);
}

LIBC_API int gethostbyaddr_r(const void *restrict addr, socklen_t len, int type,
			     struct hostent *restrict host, char *restrict buf,
			     size_t n, struct hostent **restrict result,
			     int *restrict err)
{
	return POSIX_BRACKET(gethostbyaddr_r, addr, len, type, host, buf, n, result,
			     err);
}

/* api.h: visibility macros.  The shared library exports the functions declared between
 * PSR_API_BEGIN and PSR_API_END. */
#ifndef PSRKIT_API_H
#define PSRKIT_API_H

#ifdef __cplusplus
#define PSR_EXTERN_C_BEGIN extern "C" {
#define PSR_EXTERN_C_END   }
#else
#define PSR_EXTERN_C_BEGIN
#define PSR_EXTERN_C_END
#endif

#define PSR_API_BEGIN PSR_EXTERN_C_BEGIN _Pragma("GCC visibility push(default)")
#define PSR_API_END   _Pragma("GCC visibility pop") PSR_EXTERN_C_END

#endif

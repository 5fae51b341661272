/*
 * jwt_fixture - keys and tokens of RFC 7515, appendix A.2 (RSA) and A.3 (EC), for tests.
 */
#ifndef NET_TLS_JWT_FIXTURE_H
#define NET_TLS_JWT_FIXTURE_H

#define RFC7515_EC_PUBLIC                                                    \
	"-----BEGIN PUBLIC KEY-----\n"                                       \
	"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n" \
	"6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"     \
	"-----END PUBLIC KEY-----\n"

#define RFC7515_EC_PRIVATE                                                   \
	"-----BEGIN EC PRIVATE KEY-----\n"                                   \
	"MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49\n" \
	"AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b\n" \
	"focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"                             \
	"-----END EC PRIVATE KEY-----\n"

#define RFC7515_RSA_PUBLIC                                                   \
	"-----BEGIN PUBLIC KEY-----\n"                                       \
	"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj\n" \
	"NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz\n" \
	"P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo\n" \
	"9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB\n" \
	"EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX\n" \
	"FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp\n" \
	"oQIDAQAB\n"                                                         \
	"-----END PUBLIC KEY-----\n"

#define RFC7515_PAYLOAD                                                                    \
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19y" \
	"b290Ijp0cnVlfQ"

#define RFC7515_EC_SIGNATURE                                                               \
	"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-K" \
	"g6NU1Q"

#define RFC7515_RSA_SIGNATURE                                                              \
	"cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF" \
	"5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK" \
	"5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqt" \
	"FZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrB" \
	"p0igcN_IoypGlUPQGe77Rw"

#define RFC7515_EC_TOKEN  "eyJhbGciOiJFUzI1NiJ9." RFC7515_PAYLOAD "." RFC7515_EC_SIGNATURE
#define RFC7515_RSA_TOKEN "eyJhbGciOiJSUzI1NiJ9." RFC7515_PAYLOAD "." RFC7515_RSA_SIGNATURE

#endif

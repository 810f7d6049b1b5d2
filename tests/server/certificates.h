/* Two certificates of their own making with their keys, good for a hundred years and for nothing
 * but tests. */
#ifndef TEST_SERVER_CERTIFICATES_H
#define TEST_SERVER_CERTIFICATES_H

static const char first_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdjCCAR2gAwIBAgIUbQMfPgfHRMtfYte5k4H52MDWUjowCgYIKoZIzj0EAwIw\n"
    "EDEOMAwGA1UEAwwFZmlyc3QwIBcNMjYxMTIwMDcwOTE1WhgPMjEyNjEwMjcwNzA5\n"
    "MTVaMBAxDjAMBgNVBAMMBWZpcnN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n"
    "yFRt/6byPYLBj/oAya4OzAKzVS0THTipm5qi81pnBtwYisPnNYNYxnxdrRuvzM3a\n"
    "S9lwptKStTSw2wodAkQ/daNTMFEwHQYDVR0OBBYEFBfkiH/Ay0zIkE+yfa3zy2lh\n"
    "LtX7MB8GA1UdIwQYMBaAFBfkiH/Ay0zIkE+yfa3zy2lhLtX7MA8GA1UdEwEB/wQF\n"
    "MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgdT2AvlXY++Kc7yj8ge6W4pgv2uR4SGih\n"
    "mBg5Dq53zCkCIB4y425NQcRlBXj2SqBWKlupjeNIMVcNfKTdYEholnkC\n"
    "-----END CERTIFICATE-----\n";
static const char first_key[] = "-----BEGIN PRIVATE KEY-----\n"
                                "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgedPT50afkT8jbfsk\n"
                                "5udGJTR+kAYGUgAoD8Bsc1EL6U2hRANCAATIVG3/pvI9gsGP+gDJrg7MArNVLRMd\n"
                                "OKmbmqLzWmcG3BiKw+c1g1jGfF2tG6/MzdpL2XCm0pK1NLDbCh0CRD91\n"
                                "-----END PRIVATE KEY-----\n";
static const char second_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBeTCCAR+gAwIBAgIUe0ZlPs4K5QYM5lOfGrJkkmifMjEwCgYIKoZIzj0EAwIw\n"
    "ETEPMA0GA1UEAwwGc2Vjb25kMCAXDTI2MTEyMDA3MDkxNVoYDzIxMjYxMDI3MDcw\n"
    "OTE1WjARMQ8wDQYDVQQDDAZzZWNvbmQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n"
    "AARwgDjfsS96znyI9vIn+ks+PL62WSfp/BYln8s4YGhJn/btL0lfkqUeVUgPfsvU\n"
    "He8SQ+v75SQPLiaxjUsCqGTYo1MwUTAdBgNVHQ4EFgQUqMZnJZ2wNEFvpLLVJNIc\n"
    "a6WeoFMwHwYDVR0jBBgwFoAUqMZnJZ2wNEFvpLLVJNIca6WeoFMwDwYDVR0TAQH/\n"
    "BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAmCoJt89PHaksz833yAhDC9MsTqY39\n"
    "mFMC7lvNwRsPeAIhAIIlQh2Jnn0T9AvL/6bg+kWoKS18gwRlpvBS+8aoCp04\n"
    "-----END CERTIFICATE-----\n";
static const char second_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPBg17vkUVQNpHup7\n"
    "vNpxwlbENsBQRK4b6cuL6ZLRXSKhRANCAARwgDjfsS96znyI9vIn+ks+PL62WSfp\n"
    "/BYln8s4YGhJn/btL0lfkqUeVUgPfsvUHe8SQ+v75SQPLiaxjUsCqGTY\n"
    "-----END PRIVATE KEY-----\n";

#endif

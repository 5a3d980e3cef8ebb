package agentrun_test

import enc "encoding/base64"

// base64 is how JSON writes bytes.
func base64(s string) string { return enc.StdEncoding.EncodeToString([]byte(s)) }

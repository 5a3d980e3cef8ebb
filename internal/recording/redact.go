package recording

import (
	"bytes"
	"encoding/json"

	"custos/internal/fleet"
)

// redactJSON redacts every string of a JSON document, wherever it stands, and
// the keys too; the value of a key with a secret's name goes whole, and so does
// an element that follows a flag with one. A recording is sent to others, and
// which of its fields hold text that others wrote is nothing to be remembered.
func redactJSON(b []byte) []byte {
	var out bytes.Buffer
	key, before := "", ""
	for len(b) > 0 {
		end := stringEnd(b)
		if end == 0 {
			switch b[0] {
			case '{', '}', '[', ']':
				key, before = "", ""
			}
			out.WriteByte(b[0])
			b = b[1:]
			continue
		}
		var s string
		isKey := bytes.HasPrefix(bytes.TrimLeft(b[end:], " \t\r\n"), []byte(":"))
		if err := json.Unmarshal(b[:end], &s); err != nil {
			s = ""
		}
		to := fleet.RedactValue(key, before, s)
		key, before = "", s
		if isKey {
			to, key, before = fleet.Redact(s), s, ""
		}
		writeString(&out, b[:end], s, to)
		b = b[end:]
	}
	return out.Bytes()
}

// stringEnd is where the string that b begins with ends; 0 when it begins with none.
func stringEnd(b []byte) int {
	if b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// writeString writes a string as it stood, unless it changed.
func writeString(out *bytes.Buffer, stood []byte, was, is string) {
	if is == was {
		out.Write(stood)
		return
	}
	b, err := json.Marshal(is)
	if err != nil { // a string always has a form
		b = []byte(`"***"`)
	}
	out.Write(b)
}

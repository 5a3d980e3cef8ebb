package recording_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/recording"
)

// Whatever field of a recording holds a secret, and whatever field there will be:
// none leaves the machine.
func TestARecordingHoldsNoSecret(t *testing.T) {
	fleettest.WithoutRace(t)
	// What is a secret is fleet's TestRedactKnowsSecrets; here it is the fields that count.
	for _, words := range []string{"glpat-hunter2-pass-0123456789", "--password hunter2-pass", `{"client_secret": "hunter2-pass"}`, "https://me:hunter2-pass@host/x"} {
		var r fleet.Recording
		plant(reflect.ValueOf(&r).Elem(), "please "+words+" now", 0)
		b, err := recording.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(b), "hunter2-pass"); i >= 0 {
			t.Errorf("it is in the recording: …%s…", b[max(0, i-80):min(len(b), i+30)])
		}
		if len(b) < 100_000 {
			t.Fatalf("the recording has %d bytes: nothing was planted", len(b))
		}
	}
}

// What the value of a key, or the argument after a flag, holds is judged by that.
func TestARecordingHoldsNoNamedSecret(t *testing.T) {
	var r fleet.Recording
	r.Past.Orders = []fleet.Order{{}}
	agent := fleet.Agent{Name: "a"}
	r.Snapshot.Agents.Value = []fleet.Agent{agent}
	r.Snapshot.Processes.Value = []fleet.Process{{Args: []string{"x", "--password", "hunter2-pass", "--max-tokens", "4096"}}}
	b, err := recording.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.Contains(s, "hunter2-pass") || !strings.Contains(s, "4096") {
		t.Errorf("recording %s", s)
	}
}

// plant puts a text into every string that can be reached from v.
func plant(v reflect.Value, text string, deep int) {
	if deep > 14 {
		return
	}
	if leaf, ok := v.Addr().Interface().(json.Unmarshaler); ok && v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().Name(), "Leaf[") {
		plantLeaf(v, leaf, text, deep)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), text, deep+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range 2 {
				plant(v.Index(i), text, deep+1)
			}
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, text, deep+1)
		plant(value, text, deep+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plant(v.Field(i), text, deep+1)
			}
		}
	}
}

// plantLeaf fills a leaf through its JSON form, the only door to it.
func plantLeaf(v reflect.Value, leaf json.Unmarshaler, text string, deep int) {
	inner := reflect.New(v.Field(0).Type())
	plant(inner.Elem(), text, deep+1)
	b, err := json.Marshal(inner.Interface())
	if err == nil {
		err = leaf.UnmarshalJSON(b)
	}
	if err != nil {
		panic(err)
	}
}

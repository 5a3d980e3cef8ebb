package ledger_test

import (
	"reflect"
	"slices"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Each key of a role either makes another start of it, and is in its digest, or counts at each moment.
func TestRoleSum(t *testing.T) {
	live := []string{"Name", "Preset", "What", "MaySpawn", "Max", "Ends", "Takes", "Tries", "Typed"}
	base := ledger.RoleSum(fleet.Role{})
	kind := reflect.TypeFor[fleet.Role]()
	for i := range kind.NumField() {
		v := reflect.New(kind).Elem()
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("%s is a %s", kind.Field(i).Name, f.Kind())
		}
		if changed := ledger.RoleSum(v.Interface().(fleet.Role)) != base; changed == slices.Contains(live, kind.Field(i).Name) {
			t.Errorf("%s changes the digest: %v", kind.Field(i).Name, changed)
		}
	}
}

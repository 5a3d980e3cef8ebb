package ledger_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Each key of a role either makes another start of it, and is in its digest, or counts at each moment.
func TestRoleSum(t *testing.T) {
	live := []string{"Name", "Preset", "What", "MaySpawn", "Mails", "Max", "Ends", "Takes", "Tries", "Typed"}
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

// Who is started by nobody reports to the one of that role that is there longest and is to run; who reviews, to none.
func TestWhomARoleReportsTo(t *testing.T) {
	r := fleet.Role{Name: "builder", Kind: "claude", Dir: "/src", ReportsTo: "lead"}
	lead := func(name string, at fleet.Instant, desired fleet.Desired) fleet.Registration {
		return fleet.Registration{Name: name, Role: "lead", CreatedAt: at, Desired: desired, Depth: 1}
	}
	past := fleet.Past{Registrations: []fleet.Registration{lead("young", mergeNoon, fleet.DesiredRunning), lead("old", mergeNoon.Add(-1), fleet.DesiredRunning), lead("gone", mergeNoon.Add(-2), fleet.DesiredRetired)}}
	work := fleet.WorkItem{Head: fleet.Head{ID: "w1"}}
	if a := ledger.RoleStart(r, &work, nil, nil, past); a.Parent != "old" || a.Depth != 2 {
		t.Errorf("%+v", a)
	}
	if a := ledger.RoleStart(r, &work, &past.Registrations[0], nil, past); a.Parent != "young" {
		t.Errorf("one that was started by another: %+v", a)
	}
	work.Review = &fleet.Review{}
	if a := ledger.RoleStart(r, &work, nil, nil, past); a.Parent != "" {
		t.Errorf("one that reviews: %+v", a)
	}
	if a := ledger.RoleStart(r, nil, nil, nil, fleet.Past{}); a.Parent != "" {
		t.Errorf("where there is none: %+v", a)
	}
}

// Of a role that says which mail its agents may send any other is refused, with what may be sent.
func TestWhichMailARoleSends(t *testing.T) {
	r := &fleet.Role{Name: "builder", Mails: []string{"worker_done", "free"}}
	for _, ok := range []fleet.MailType{fleet.MailFree, fleet.MailWorkerDone} {
		if err := ledger.RoleMaySend(r, ok); err != nil {
			t.Error(err)
		}
	}
	if err := ledger.RoleMaySend(r, fleet.MailEscalation); err == nil || !strings.Contains(err.Error(), "may send worker_done, free") {
		t.Errorf("%v", err)
	}
	if err := ledger.RoleMaySend(&fleet.Role{Mails: []string{}}, fleet.MailFree); err == nil || !strings.Contains(err.Error(), "may send none") {
		t.Errorf("%v", err)
	}
	if ledger.RoleMaySend(&fleet.Role{}, fleet.MailEscalation) != nil || ledger.RoleMaySend(nil, fleet.MailEscalation) != nil {
		t.Error("where nothing is said")
	}
}

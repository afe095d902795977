grep -q "^# Next" NEXT.md && echo NEXT.md is in order

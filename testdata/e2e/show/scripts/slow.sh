echo begun
exec sleep 300

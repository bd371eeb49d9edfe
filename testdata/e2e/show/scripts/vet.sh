echo "main.c: In function 'main':"
echo "main.c:3:25: error: 'x' undeclared"
exit 1
